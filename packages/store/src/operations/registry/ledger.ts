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

/** A row of the ledger: the fingerprint of what was asked for, and the names of the writes that were done. */
export function rowIn(value: Uint8Array): { readonly fingerprint: string; readonly names: readonly string[] } {
  const { fingerprint, writes } = doneIn(value);
  return { fingerprint, names: writes.map(([name]) => name) };
}

const doneIn = (value: Uint8Array): Done => parseTagged(new TextDecoder().decode(value)) as Done;

/** A write that is done once, and its name among those of its row. */
export interface OnceWrite<T = unknown> {
  readonly name: string;
  operation(): Operation<T>;
}

/** A write of an operation. */
export interface LedgerPlace {
  /** The key of the operation's row, which tells of the write that was done first. Each of the others has a row below it. */
  readonly operation: string;
  /** Names the write among those of the operation. */
  readonly name: string;
  readonly fingerprint: string;
  /** All writes of the operation have this fingerprint. */
  readonly isOfAll: boolean;
  /** No write of the operation came before it here; elsewhere one may have. */
  readonly isFirst: boolean;
}

/** Does one write of an operation once. What was asked for under its id is read with what came of the write. Errors: as `onceEach`. */
export function* onceIn<T>(sql: Dialect, place: LedgerPlace, operation: () => Operation<T>): Operation<T> {
  const { operation: key, name, fingerprint, isOfAll, isFirst } = place;
  const writes = [{ name, operation }];
  const row = yield* begin(sql, key, fingerprint, writes, isFirst);
  const isOfAnother = row?.writes.every(([done]) => done !== name);
  if (row && isOfAll) assertSame(row, fingerprint);
  const [result] = isOfAnother
    ? yield* onceEach(sql, `${key}/${name}`, fingerprint, writes)
    : yield* doNew(sql, key, fingerprint, writes, row);
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
  return yield* doNew(sql, key, fingerprint, writes, yield* begin(sql, key, fingerprint, writes, true));
}

/**
 * The row of a key; null where there was none. Where nobody else writes meanwhile, it is looked for. Elsewhere it is written first, so
 * that others wait for it, unless it is probably there.
 */
function* begin(
  sql: Dialect,
  key: string,
  fingerprint: string,
  writes: readonly OnceWrite[],
  isNew: boolean,
): Operation<Done | null> {
  const row = isAlone(sql) || !isNew ? yield* findRow(sql, key) : null;
  if (row !== null || isAlone(sql)) return row;
  try {
    yield* writeRow(sql, key, { fingerprint, writes: writes.map(({ name }) => [name]) }, true);
    return null;
  } catch (error) {
    const other = StemmaError.isInstance(error, "RECORD_CONFLICT") ? yield* findRow(sql, key) : null;
    if (other === null) throw error;
    return other;
  }
}

function* findRow(sql: Dialect, key: string): Operation<Done | null> {
  const found = yield* readRecord(sql, LEDGER, key, sql.forUpdate);
  return found === null ? null : doneIn(found.value);
}

/** Does the writes that are not in the row of a key, which `begin` gave, and writes the row. */
function* doNew<T>(
  sql: Dialect,
  key: string,
  fingerprint: string,
  writes: readonly OnceWrite<T>[],
  row: Done | null,
): Operation<T[]> {
  if (row !== null) assertSame(row, fingerprint);
  const done = new Map(row?.writes.map(([name, result]) => [name, result]));
  const resultOf = ({ name }: OnceWrite) => done.get(name) as T;
  const news = writes.filter(({ name }) => !done.has(name));
  if (news.length === 0) return writes.map(resultOf);
  for (const { name, operation } of news) done.set(name, yield* operation());
  // A claim says all that there is to say of writes without results.
  const isSaid = !isAlone(sql) && row === null && news.every((each) => resultOf(each) === undefined);
  if (!isSaid) yield* writeRow(sql, key, { fingerprint, writes: [...done] }, isAlone(sql) && row === null);
  rows += 1;
  if (rows % WRITES_A_SWEEP === 0) yield* sweepRecords(sql);
  return writes.map(resultOf);
}

const isAlone = ({ lockSession }: Dialect) => lockSession === null;

function writeRow(sql: Dialect, key: string, row: Done, isNew: boolean): Operation<unknown> {
  const value = new TextEncoder().encode(stringifyTagged(row));
  const expiresAt = Date.now() + REMEMBERED;
  return placeRecord(sql, LEDGER, key, value, isNew ? { expectedVersion: 0, expiresAt } : { expiresAt });
}

function assertSame(row: Done, fingerprint: string): void {
  if (row.fingerprint === fingerprint) return;
  throw new StemmaError("OPERATION_CONFLICT", {}, "Another operation had this id before; nothing was changed.");
}
