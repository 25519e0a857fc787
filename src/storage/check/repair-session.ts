import { summaryMessage } from "../../model/compactions.js";
import { estimateMessageTokens } from "../../model/tokens.js";
import type { Dialect } from "../engine/dialect.js";
import { first, type Operation, run, type SqlValue } from "../engine/operation.js";
import { rowsOf, type SessionRows } from "../engine/session-rows.js";
import { isoNow } from "../operations/clock.js";
import { forgetLength } from "../operations/measures.js";
import { type Findings, isTime, isWhole } from "./findings.js";
import { faultsOf, type RegisteredSession } from "./registry-row.js";
import { repairFields } from "./repair-fields.js";
import { repairMedia } from "./repair-media.js";
import { type Bone, mendParents, readBones, writeTree } from "./repair-tree.js";
import { textOf } from "./scan.js";
import { readBranches, readSummaries, type SummaryRow } from "./session.js";

/** Mends what a check found in a session. No message and no summary is removed; what cannot be read stays where it is. */
export function* repairSession(sql: Dialect, session: RegisteredSession, found: Findings): Operation<void> {
  const rows = rowsOf(sql, session.id, session.no);
  yield* repairRegistryRow(rows, session);
  if (found.has("content") || found.has("media")) yield* repairMedia(sql, rows);
  const bones = yield* readBones(rows);
  yield* repairFields(sql, rows, bones);
  const branches = yield* readBranches(rows);
  yield* mendParents(sql, rows, bones, branches);
  if (found.has("tree") || found.has("fields")) {
    yield* writeTree(rows, bones, branches);
    // A row that was moved left what stands outside it behind.
    yield* repairMedia(sql, rows);
  }
  yield* repairSummaries(rows, bones);
  const at = [...rows.ids, rows.sessionNumber] as const;
  const where = `WHERE ${rows.registered}no = ?`;
  const leaf = yield* first<{ leaf: number | null }>(`SELECT leaf FROM assistant_sessions ${where}`, ...at);
  const isLeaf = leaf?.leaf == null || leaf.leaf === 0 || bones.some(({ n: rowId }) => rowId === leaf.leaf);
  if (!isLeaf) yield* run(`UPDATE assistant_sessions SET leaf = NULL ${where}`, ...at);
  yield* forgetLength(rows);
  // Totals are measured anew when they are asked for.
  yield* run(`UPDATE assistant_sessions SET stale = ? ${where}`, bones.at(-1)?.n ?? null, ...at);
}

function* repairRegistryRow(
  { registered, ids, sessionNumber }: SessionRows,
  session: RegisteredSession,
): Operation<void> {
  const set = (column: string, value: SqlValue) =>
    run(`UPDATE assistant_sessions SET ${column} = ? WHERE ${registered}no = ?`, value, ...ids, sessionNumber);
  for (const column of faultsOf(session)) {
    if (column === "id" || column === "name") yield* set(column, textOf(session[column]));
    else if (column === "created_at" || column === "updated_at") yield* set(column, isoNow());
    else if (/tokens|cost|changes/.test(column)) yield* set(column, 0);
    else yield* set(column, null);
  }
}

function* repairSummaries(rows: SessionRows, bones: readonly Bone[]): Operation<void> {
  const byId = new Map(bones.map((bone) => [bone.id, bone]));
  const byRow = new Map(bones.map((bone) => [bone.n, bone]));
  for (const row of yield* readSummaries(rows)) {
    const { from, to } = rangeOf(row, byId, byRow);
    const tokens = estimateMessageTokens(summaryMessage({ id: textOf(row.id), summary: textOf(row.summary) }));
    yield* run(
      // Where rows name their session, they were found by it.
      `UPDATE assistant_compactions SET ${rows.namesSessions ? "" : "session_id = ?, "}summary = ?, from_n = ?, from_message_id = ?, to_n = ?, to_message_id = ?,
         tokens = ?, covered_tokens = ?, created_at = ? WHERE ${rows.own}n = ?`,
      ...(rows.namesSessions ? [] : [rows.id]),
      textOf(row.summary),
      from?.n ?? null,
      from?.id ?? textOf(row.from_message_id),
      to?.n ?? null,
      to?.id ?? textOf(row.to_message_id),
      tokens,
      isWhole(row.covered_tokens) ? row.covered_tokens : null,
      isTime(row.created_at) ? row.created_at : isoNow(),
      ...rows.ids,
      row.n,
    );
  }
}

interface Range {
  readonly from: Bone | null;
  readonly to: Bone | null;
}

// The ends by their ids or by their rows, whichever lie on one path; a range that is gone keeps its words and covers nothing.
function rangeOf(row: SummaryRow, byId: ReadonlyMap<string, Bone>, byRow: ReadonlyMap<number, Bone>): Range {
  const none = { from: null, to: null };
  if (row.from_n === null && row.to_n === null) return none;
  const ends = [
    [byId.get(row.from_message_id), byId.get(row.to_message_id)],
    [byRow.get(row.from_n ?? 0), byRow.get(row.to_n ?? 0)],
    [byId.get(row.from_message_id), byRow.get(row.to_n ?? 0)],
    [byRow.get(row.from_n ?? 0), byId.get(row.to_message_id)],
  ];
  for (const [from, to] of ends) {
    if (from !== undefined && to !== undefined && isOnPath(from, to)) return { from, to };
  }
  return none;
}

function isOnPath(from: Bone, to: Bone): boolean {
  for (let bone: Bone | null = to; bone !== null && bone.n >= from.n; bone = bone.parent)
    if (bone === from) return true;
  return false;
}
