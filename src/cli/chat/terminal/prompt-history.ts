import { appendFile, mkdir, readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { replaceFile } from "../../../files/replace-file.js";
import { findJson } from "../../../model/json-object.js";

/** Entries that a chat starts with. */
const KEPT = 100;
/** The file is cut back when it holds more entries than this. */
const MOST = 1_000;

/**
 * What was typed at the prompt, over restarts: a line of JSON for each entry, in `STEMMA_HISTORY`, else
 * `~/.stemma/prompt-history.jsonl`, readable for the user only. A chat works also where the file cannot be read or written.
 */
export class PromptHistory {
  readonly #path = process.env.STEMMA_HISTORY || join(homedir(), ".stemma", "prompt-history.jsonl");
  #last: string | undefined;
  #writes: Promise<void> = Promise.resolve();

  /** The newest entries, oldest first. */
  async load(): Promise<string[]> {
    const lines = (await readFile(this.#path, "utf8").catch(() => "")).split("\n").filter((line) => line !== "");
    const entries = lines.slice(-KEPT).flatMap(parseEntry);
    this.#last = entries.at(-1);
    if (lines.length > MOST) {
      const content = lines.slice(-KEPT).map((line) => `${line}\n`);
      await replaceFile(this.#path, content.join(""), { mode: 0o600 }).catch(() => {});
    }
    return entries;
  }

  /** Adds an entry, unless it repeats the one before. */
  add(entry: string): void {
    if (entry === this.#last) return;
    this.#last = entry;
    this.#writes = this.#writes.then(() => this.#append(entry)).catch(() => {});
  }

  /** Resolves when all entries are written. */
  written(): Promise<void> {
    return this.#writes;
  }

  async #append(entry: string): Promise<void> {
    await mkdir(dirname(this.#path), { recursive: true, mode: 0o700 });
    await appendFile(this.#path, `${JSON.stringify(entry)}\n`, { mode: 0o600 });
  }
}

// Another program may have written to the file, or died in the middle of a line.
function parseEntry(line: string): string[] {
  const entry = findJson(line);
  return typeof entry === "string" ? [entry] : [];
}
