import type { JsonObject } from "@stemma/model";
import { StemmaError } from "@stemma/model";
import type { KeptWrite, MemoryOwner, MemoryScope, Store } from "@stemma/store";
import { completeKept, type KeptItem, writeKept } from "@stemma/store";
import { keptLines, readKeptLine } from "../stemma/store-lines.js";
import { conflict } from "./contract.js";
import { isSameLine, Matching } from "./matching.js";

/** Records, and bytes of them, that are written together. */
const MOST_RECORDS = 200;
const MOST_BYTES = 2_000_000;

/** Writes what is kept beside messages, or outside of sessions, where the store has none of it. */
export class KeptWriter {
  readonly #stored: Matching;
  #records: KeptWrite[] = [];
  #bytes = 0;
  #isWritten = false;

  constructor(
    private readonly store: Store,
    private readonly scope: MemoryScope,
    private readonly of: MemoryOwner,
  ) {
    this.#stored = new Matching(keptLines(store, scope));
  }

  /** Errors: `COPY_CONFLICT`, and those of the writes. */
  async write(line: JsonObject): Promise<void> {
    const item = readKeptLine(line.kept);
    if (item === null)
      throw new StemmaError("UNKNOWN_FORMAT", {}, "A line holds nothing that is kept beside messages.");
    const present = await this.#stored.peek();
    const known = present === null ? null : readKeptLine(present.kept);
    if (present !== null && known !== null && JSON.stringify(describe(known)) === JSON.stringify(describe(item))) {
      if (!isSameLine(present, line)) await this.#complete(item, known);
      this.#stored.advance();
      return;
    }
    if (item.kind === "record") await this.#addRecord(item);
    else if (!(await writeKept(this.store, this.scope, item))) throw this.#conflict(item);
    else this.#isWritten = true;
  }

  /** Writes what was held back. Resolves to whether anything was missing. */
  async finish(): Promise<boolean> {
    await this.#flush();
    if ((await this.#stored.peek()) !== null) throw conflict(this.of, "it has further blocks, entries or records");
    return this.#isWritten;
  }

  // A copy that was cut off may have left a text without its versions.
  async #complete(item: KeptItem, known: KeptItem): Promise<void> {
    if (!(await completeKept(this.store, this.scope, item, known))) throw this.#conflict(item);
    this.#isWritten = true;
  }

  async #addRecord({ label, record }: Extract<KeptItem, { kind: "record" }>): Promise<void> {
    const { key, value, version, expiresAt } = record;
    const options = { version, expiresAt: expiresAt ?? undefined, expectedVersion: 0 };
    this.#records.push({ records: { sessionId: this.scope.sessionId, label }, key, value, options });
    this.#bytes += value.length;
    if (this.#records.length >= MOST_RECORDS || this.#bytes >= MOST_BYTES) await this.#flush();
  }

  async #flush(): Promise<void> {
    if (this.#records.length === 0) return;
    await this.store.writeTogether(this.#records);
    this.#records = [];
    this.#bytes = 0;
    this.#isWritten = true;
  }

  #conflict(item: KeptItem): StemmaError {
    const [kind, label = "", key = ""] = describe(item);
    return conflict(
      this.of,
      `a ${kind} is another one${label === "" ? "" : ` ("${label}")`}${key === "" ? "" : ` ("${key}")`}`,
    );
  }
}

function describe(item: KeptItem): readonly [kind: string, label?: string, key?: string] {
  if (item.kind === "prompt") return ["prompt"];
  if (item.kind === "block") return ["block", item.block.label];
  if (item.kind === "entry") return ["entry", item.label, item.entry.key];
  return item.kind === "removed" ? ["removed", item.label, item.key] : ["record", item.label, item.record.key];
}
