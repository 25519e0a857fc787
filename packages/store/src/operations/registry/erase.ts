import type { Erased, MemoryScope, RowCounts } from "../../contract/store.js";
import type { Dialect } from "../../engine/dialect.js";
import { column, first, type Operation, ownOf, rowsOf, run, type SessionRows } from "../../engine/operation.js";
import { isScope, UPGRADED_ROWS } from "../../sql/session-id.js";
import { removeEntries } from "../memory/entry-rows.js";
import { PROGRAMS_OWN, removeRecords } from "../memory/records.js";
import { removeAllVersions } from "../memory/versions.js";
import { removeRows } from "../messages/messages.js";
import { removeUpgradedBlocks } from "../messages/upgraded-rows.js";
import { ownerOf } from "./owners.js";
import { ceilingOf, findSessionRows, floorOf } from "./session-head.js";
import { removeUsage } from "./usage.js";

/** Where the rows of one session stand, or of a scope, in every table. They are found by it after they are gone, too. */
export interface ErasedRows {
  readonly id: string;
  /** Null for a scope, and for an id without a row. */
  readonly rows: SessionRows | null;
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
  records: `assistant_records WHERE ${PROGRAMS_OWN} AND session_id`,
  usage: "assistant_usage WHERE session_id",
};
const byNumber = ({ own }: SessionRows) => ({
  branches: `assistant_branches WHERE ${own}no`,
  media: `assistant_media WHERE part = 0 AND ${own}no`,
});

const counts = (tables: object) =>
  Object.entries(tables).map(([kind, where]) => `(SELECT count(*) FROM ${where} = ?) AS ${kind}`);

/** The operation behind `SessionRegistry.delete`. */
export function* deleteSession(sql: Dialect, id: string, userId?: string): Operation<Erased> {
  const isOther = userId !== undefined && (yield* ownerOf(id)) !== userId;
  if (id === UPGRADED_ROWS || isScope(id) || isOther) return { deleted: NOTHING, remaining: NOTHING };
  const erased = yield* findErased(sql, id);
  const deleted = yield* countRows(sql, erased);
  if (erased.rows !== null) yield* removeRows(sql, erased.rows);
  yield* removeEntries(sql, id);
  yield* run("DELETE FROM cf_agents_context_blocks WHERE session_id = ?", id);
  const upgraded = yield* removeUpgradedBlocks(id);
  yield* removeAllVersions(id);
  yield* removeRecords(id);
  yield* removeUsage(id);
  yield* run("DELETE FROM assistant_sessions WHERE id = ?", id);
  return { deleted: { ...deleted, blocks: deleted.blocks + upgraded }, remaining: yield* countRows(sql, erased) };
}

/** The operation behind `Store.deleteMemory`. */
export function* deleteMemory(sql: Dialect, { sessionId: id }: MemoryScope): Operation<Erased> {
  const erased = { ...(yield* findErased(sql, id)), rows: null };
  const deleted = yield* countRows(sql, erased, MEMORY);
  yield* removeEntries(sql, id);
  yield* run(`DELETE FROM ${BLOCKS} = ?`, id);
  yield* removeAllVersions(id);
  return { deleted, remaining: yield* countRows(sql, erased, MEMORY) };
}

/** Where the rows of a session or a scope stand. */
export function* findErased(sql: Dialect, id: string): Operation<ErasedRows> {
  const entries = yield* column<number>("SELECT n FROM cf_agents_search_entries WHERE session_id = ?", id);
  return { id, rows: yield* findSessionRows(sql, id), entries: entries.map(Number) };
}

/** How many rows there are of each kind. */
export function* countRows(sql: Dialect, erased: ErasedRows, byId: object = BY_ID): Operation<RowCounts> {
  const { id, entries } = erased;
  // No row has a number below 1, and no session the number 0.
  const rows = erased.rows ?? rowsOf(sql, id, 0);
  const [lo, hi] = erased.rows === null ? [0, 0] : [floorOf(rows.sessionNumber), ceilingOf(rows.sessionNumber)];
  const numbered = byNumber(rows);
  const selects = [...counts(byId), ...counts(numbered)];
  const values: (string | number)[] = [
    ...Object.keys(byId).map(() => id),
    ...Object.keys(numbered).flatMap(() => [...rows.ids, rows.sessionNumber]),
  ];
  if (sql.search !== null) {
    const { messages, entries: known } = sql.search.rows;
    selects.push(`(SELECT count(*) FROM ${messages} AS d WHERE ${ownOf(rows, "d")}d.n BETWEEN ? AND ?)
      + (SELECT count(*) FROM ${sql.segmentTable} AS s JOIN ${known} AS d ON ${ownOf(rows, "d")}d.n = s.lo) AS indexed`);
    values.push(...rows.ids, lo, hi, JSON.stringify(entries.map((rowId) => [0, rowId, 0])), ...rows.ids);
  }
  if ((yield* sql.columns("assistant_vectors")).length > 0) {
    // An entry that waits for its vector has a row, too.
    selects.push(`(SELECT count(*) FROM assistant_vectors WHERE ${rows.own}n BETWEEN ? AND ?)
      + (SELECT count(*) FROM ${sql.segmentTable} AS s JOIN assistant_entry_vectors AS v
        ON ${ownOf(rows, "v")}v.n = s.lo AND v.vector IS NOT NULL) AS vectors`);
    values.push(...rows.ids, lo, hi, JSON.stringify(entries.map((rowId) => [0, rowId, 0])), ...rows.ids);
  }
  const row = yield* first<Partial<RowCounts>>(`SELECT ${selects.join(", ")}`, ...values);
  const found = Object.entries(row ?? {}).map(([kind, count]) => [kind, Number(count)]);
  return { ...NOTHING, ...Object.fromEntries(found) };
}

const KINDS = [...Object.keys(BY_ID), "branches", "media", "indexed", "vectors"];
const NOTHING = Object.fromEntries(KINDS.map((kind) => [kind, 0])) as unknown as RowCounts;
