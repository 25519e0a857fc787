import { isJsonObject, type JsonObject } from "../model/json-object.js";
import { isWaitingLine } from "./vector-lines.js";

/** Characters that are hashed together. */
const PIECE = 65_536;

/**
 * A SHA-256 over lines, each of the hash so far with further lines. Records that expire before `until`, in milliseconds since
 * 1970, do not count: they may go between two looks. Nor do messages that wait for their vectors: these may come.
 */
export class LineDigest {
  #hash = "";
  #lines: string[] = [];
  #length = 0;
  items = -1;
  messages = 0;

  constructor(private readonly until: number) {}

  async add(line: JsonObject): Promise<void> {
    if (this.#isPassing(line) || isWaitingLine(line)) return;
    this.items += 1;
    if ("message" in line) this.messages += 1;
    const text = JSON.stringify(line);
    this.#lines.push(text);
    this.#length += text.length;
    if (this.#length >= PIECE) await this.#hashLines();
  }

  /** Of all lines so far. */
  async hex(): Promise<string> {
    if (this.#lines.length > 0) await this.#hashLines();
    return this.#hash;
  }

  #isPassing({ kept }: JsonObject): boolean {
    const record = isJsonObject(kept) && isJsonObject(kept.record) ? kept.record : null;
    return typeof record?.expiresAt === "number" && record.expiresAt <= this.until;
  }

  async #hashLines(): Promise<void> {
    const bytes = new TextEncoder().encode([this.#hash, ...this.#lines].join("\n"));
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    this.#hash = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
    this.#lines = [];
    this.#length = 0;
  }
}
