import { parseTagged, StemmaError, stringifyTagged } from "@stemma/model";
import type { RecordScope } from "../../contract/store.js";
import type { Dialect } from "../../engine/dialect.js";
import type { Operation } from "../../engine/operation.js";
import { placeRecord, RESERVED_LABELS, readRecord, sweepRecords } from "../memory/records.js";

/** Where it stands what was done once. Keys begin with the digest of the operation's id. */
export const LEDGER: RecordScope = { sessionId: "", label: `${RESERVED_LABELS}operations` };

/** As long as a client may ask again, in milliseconds. */
const REMEMBERED = 86_400_000;

/** Rows that are written between two looks for expired ones. A look removes up to twice as many. */
const WRITES_A_SWEEP = 8;
let rows = 0;

/** The content of a row of the ledger, as tagged JSON. */
interface Done {
  /** Tells whether the same was asked for. */
  readonly fingerprint: string;
  /** The writes that were done, by their names, and what came of each. */
  readonly writes: readonly (readonly [name: string, result?: unknown])[];
}

const doneIn = (value: Uint8Array): Done => parseTagged(new TextDecoder().decode(value)) as Done;

/** The fingerprint in a row of the ledger. */
export function fingerprintIn(value: Uint8Array): string {
  return doneIn(value).fingerprint;
}

/** The names of the writes in a row of the ledger. */
export function namesIn(value: Uint8Array): string[] {
  return doneIn(value).writes.map(([name]) => name);
}

/** A write that is done once, and its name among those of its row. */
export interface OnceWrite<T = unknown> {
  readonly name: string;
  operation(): Operation<T>;
}

/** Does one write once, under a key of its own. */
export function* onceIn<T>(
  sql: Dialect,
  key: string,
  fingerprint: string,
  operation: () => Operation<T>,
): Operation<T> {
  const [result] = yield* onceEach(sql, key, fingerprint, [{ name: "", operation }]);
  return result as T;
}

/**
 * Does each of some writes once, and gives its result to whoever asks again within a day. Their row, of this key, stands in the same
 * transaction: what was rolled back was not done. Who asks meanwhile waits for the transaction. Errors: those of the writes;
 * `OPERATION_CONFLICT` for another fingerprint.
 */
export function* onceEach<T>(
  sql: Dialect,
  key: string,
  fingerprint: string,
  writes: readonly OnceWrite<T>[],
): Operation<T[]> {
  const write = (done: Done["writes"], isFirst: boolean) => {
    const value = new TextEncoder().encode(stringifyTagged({ fingerprint, writes: done } satisfies Done));
    const expiresAt = Date.now() + REMEMBERED;
    return placeRecord(sql, LEDGER, key, value, isFirst ? { expectedVersion: 0, expiresAt } : { expiresAt });
  };
  const find = function* () {
    const found = yield* readRecord(sql, LEDGER, key, sql.forUpdate);
    if (found === null) return null;
    const done = doneIn(found.value);
    if (done.fingerprint === fingerprint) return done.writes;
    throw new StemmaError("OPERATION_CONFLICT", {}, "Another operation had this id before; nothing was changed.");
  };
  // Where nobody else writes meanwhile, a row is looked for. Elsewhere it is written first, so that others wait for it.
  const isAlone = sql.lockSession === null;
  const claim = function* () {
    try {
      const names = writes.map(({ name }) => [name] as const);
      yield* write(names, true);
      return null;
    } catch (error) {
      if (!StemmaError.isInstance(error, "RECORD_CONFLICT")) throw error;
      const found = yield* find();
      if (found === null) throw error;
      return found;
    }
  };
  const before = isAlone ? yield* find() : yield* claim();
  const done = new Map(before?.map(([name, result]) => [name, result]));
  const resultOf = ({ name }: OnceWrite) => done.get(name) as T;
  const news = writes.filter(({ name }) => !done.has(name));
  if (news.length === 0) return writes.map(resultOf);
  for (const { name, operation } of news) done.set(name, yield* operation());
  // A claim says all that there is to say of writes without results.
  const isSaid = !isAlone && before === null && news.every((each) => resultOf(each) === undefined);
  if (!isSaid) yield* write([...done], isAlone && before === null);
  rows += 1;
  if (rows % WRITES_A_SWEEP === 0) yield* sweepRecords(sql);
  return writes.map(resultOf);
}
