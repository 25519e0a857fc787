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
let writes = 0;

/** The content of a row of the ledger, as tagged JSON. */
interface Done {
  /** Tells whether the same was asked for. */
  readonly fingerprint: string;
  readonly result?: unknown;
}

const doneIn = (value: Uint8Array): Done => parseTagged(new TextDecoder().decode(value)) as Done;

/** The fingerprint in a row of the ledger. */
export function fingerprintIn(value: Uint8Array): string {
  return doneIn(value).fingerprint;
}

/**
 * Does an operation once under a key, and gives its result to whoever asks again within a day. The row stands in the same
 * transaction: what was rolled back was not done. Who asks meanwhile waits for the transaction. Errors: `OPERATION_CONFLICT` for
 * another fingerprint.
 */
export function* onceIn<T>(
  sql: Dialect,
  key: string,
  fingerprint: string,
  operation: () => Operation<T>,
): Operation<T> {
  const write = (done: Done, isFirst: boolean) => {
    const value = new TextEncoder().encode(stringifyTagged(done));
    const expiresAt = Date.now() + REMEMBERED;
    return placeRecord(sql, LEDGER, key, value, isFirst ? { expectedVersion: 0, expiresAt } : { expiresAt });
  };
  const find = function* () {
    const found = yield* readRecord(sql, LEDGER, key);
    if (found === null) return null;
    const done = doneIn(found.value);
    if (done.fingerprint === fingerprint) return done;
    throw new StemmaError("OPERATION_CONFLICT", {}, "Another operation had this id before; nothing was changed.");
  };
  // Where nobody else writes meanwhile, a row is looked for. Elsewhere it is written first, so that others wait for it.
  const isAlone = sql.lockSession === null;
  if (isAlone) {
    const done = yield* find();
    if (done !== null) return done.result as T;
  } else {
    try {
      yield* write({ fingerprint }, true);
    } catch (error) {
      if (!StemmaError.isInstance(error, "RECORD_CONFLICT")) throw error;
      const done = yield* find();
      if (done === null) throw error;
      return done.result as T;
    }
  }
  const result = yield* operation();
  if (isAlone || result !== undefined) yield* write({ fingerprint, result }, isAlone);
  writes += 1;
  if (writes % WRITES_A_SWEEP === 0) yield* sweepRecords(sql);
  return result;
}
