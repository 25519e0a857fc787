import type { Erased, MemoryScope, RowCounts } from "../contract.js";
import type { Dialect } from "../engine/dialect.js";
import { column, first, type Operation, run } from "../engine/operation.js";
import { isScope, UPGRADED_ROWS } from "../session-id.js";
import { removeEntries } from "./entries.js";
import { removeRows } from "./messages.js";
import { ownerOf } from "./owners.js";
import { removeRecords } from "./records.js";
import { ceilingOf, floorOf } from "./row-id.js";
import { findSessionNumber } from "./session-head.js";
import { removeUpgradedBlocks } from "./upgraded-rows.js";
import { removeUsage } from "./usage.js";
import { removeAllVersions } from "./versions.js";

/** Where the rows of one session stand, or of a scope, in every table. They are found by it after they are gone, too. */
export interface ErasedPlace {
  readonly id: string;
  /** Null for a scope, and for an id without a row. */
  readonly no: number | null;
  /** The row ids of its entries. */
  readonly entries: readonly number[];
}

const BLOCKS = "cf_agents_context_blocks WHERE kind = 'block' AND session_id";
const MEMORY = {
  blocks: BLOCKS,
  entries: "cf_agents_search_entries WHERE session_id",
  versions: "assistant_versions WHERE session_id",
};
const BY_ID = {
  sessions: "assistant_sessions WHERE id",
  messages: "assistant_messages WHERE session_id",
  summaries: "assistant_compactions WHERE session_id",
  prompts: BLOCKS.replace("block'", "prompt'"),
  ...MEMORY,
  records: "assistant_records WHERE session_id",
  usage: "assistant_usage WHERE session_id",
};
const BY_NUMBER = { branches: "assistant_branches WHERE no", media: "assistant_media WHERE part = 0 AND no" };

const counts = (tables: object) =>
  Object.entries(tables).map(([kind, where]) => `(SELECT count(*) FROM ${where} = ?) AS ${kind}`);

/** See `SessionRegistry.delete`. */
export function* deleteSession(sql: Dialect, id: string, userId?: string): Operation<Erased> {
  const isOther = userId !== undefined && (yield* ownerOf(id)) !== userId;
  if (id === UPGRADED_ROWS || isScope(id) || isOther) return { deleted: NOTHING, remaining: NOTHING };
  const place = yield* findErased(id);
  const deleted = yield* countRows(sql, place);
  if (place.no !== null) yield* removeRows(sql, place.no);
  yield* removeEntries(sql, id);
  yield* run("DELETE FROM cf_agents_context_blocks WHERE session_id = ?", id);
  const upgraded = yield* removeUpgradedBlocks(id);
  yield* removeAllVersions(id);
  yield* removeRecords(id);
  yield* removeUsage(id);
  yield* run("DELETE FROM assistant_sessions WHERE id = ?", id);
  return {
    deleted: { ...deleted, blocks: deleted.blocks + upgraded },
    remaining: yield* countRows(sql, place),
  };
}

/** See `Store.deleteMemory`. */
export function* deleteMemory(sql: Dialect, { sessionId: id }: MemoryScope): Operation<Erased> {
  const place = { ...(yield* findErased(id)), no: null };
  const deleted = yield* countRows(sql, place, MEMORY);
  yield* removeEntries(sql, id);
  yield* run(`DELETE FROM ${BLOCKS} = ?`, id);
  yield* removeAllVersions(id);
  return { deleted, remaining: yield* countRows(sql, place, MEMORY) };
}

/** Where the rows of a session or a scope stand. */
export function* findErased(id: string): Operation<ErasedPlace> {
  const entries = yield* column<number>("SELECT n FROM cf_agents_search_entries WHERE session_id = ?", id);
  return { id, no: yield* findSessionNumber(id), entries: entries.map(Number) };
}

/** How many rows there are of each kind. */
export function* countRows(sql: Dialect, place: ErasedPlace, byId: object = BY_ID): Operation<RowCounts> {
  const { id, no: sessionNumber, entries } = place;
  // No row has a number below 1.
  const [lo, hi] = sessionNumber === null ? [0, 0] : [floorOf(sessionNumber), ceilingOf(sessionNumber)];
  const selects = [...counts(byId), ...counts(BY_NUMBER)];
  const values: (string | number)[] = [
    ...Object.keys(byId).map(() => id),
    ...Object.keys(BY_NUMBER).map(() => sessionNumber ?? 0),
  ];
  if (sql.search !== null) {
    const { messages, entries: known } = sql.search.rows;
    selects.push(`(SELECT count(*) FROM ${messages} AS d WHERE d.n BETWEEN ? AND ?)
      + (SELECT count(*) FROM ${sql.segmentTable} AS s JOIN ${known} AS d ON d.n = s.lo) AS indexed`);
    values.push(lo, hi, JSON.stringify(entries.map((rowId) => [0, rowId, 0])));
  }
  if ((yield* sql.columns("assistant_vectors")).length > 0) {
    selects.push("(SELECT count(*) FROM assistant_vectors WHERE n BETWEEN ? AND ?) AS vectors");
    values.push(lo, hi);
  }
  const row = yield* first<Partial<RowCounts>>(`SELECT ${selects.join(", ")}`, ...values);
  const found = Object.entries(row ?? {}).map(([kind, count]) => [kind, Number(count)]);
  return { ...NOTHING, ...Object.fromEntries(found) };
}

const KINDS = [...Object.keys(BY_ID), ...Object.keys(BY_NUMBER), "indexed", "vectors"];
const NOTHING = Object.fromEntries(KINDS.map((kind) => [kind, 0])) as unknown as RowCounts;
