import type { Dialect } from "../engine/dialect.js";
import {
  all,
  type Condition,
  column,
  first,
  type Operation,
  ownOf,
  rowsOf,
  run,
  type SessionRows,
} from "../engine/operation.js";
import { nextSummaryRow } from "../operations/compactions/compactions.js";
import {
  ceilingOf,
  findSessionRows,
  floorOf,
  insertSession,
  isoNow,
  nextPosition,
  openSessionHead,
  SPAN,
} from "../operations/registry/session-head.js";
import type { Misplaced } from "./misplaced.js";
/** Brings the misplaced messages of one range and session and the registry together. No message is removed. */
export function* repairMisplaced(sql: Dialect, group: Misplaced): Operation<void> {
  const { no: sessionNumber, session_id: id, owner } = group;
  const named = yield* findSessionRows(sql, id);
  const isUsable = sessionNumber >= 1 && sessionNumber < 2 ** 25;
  if (owner === null && named === null && isUsable) return yield* register(sql, rowsOf(sql, id, sessionNumber));
  if (owner === null) {
    if (named !== null && isUsable && (yield* isEmpty(named))) {
      return yield* run("UPDATE assistant_sessions SET no = ? WHERE id = ?", sessionNumber, id);
    }
    return yield* moveMessages(sql, group, yield* rowsOfGroup(group));
  }
  const own = "SELECT 1 FROM assistant_messages WHERE n BETWEEN ? AND ? AND session_id = ? LIMIT 1";
  const isMixed = (yield* first(own, floorOf(sessionNumber), ceilingOf(sessionNumber), owner)) !== undefined;
  if (!isMixed && (named === null || (yield* isEmpty(named)))) {
    // The registry's id is what was changed; a row of the old id without messages was made since.
    if (named !== null) yield* run(...named.whereRegistered("DELETE FROM assistant_sessions"));
    const { registered, ids } = rowsOf(sql, owner, sessionNumber);
    const condition = `${registered}no = ?`;
    return yield* giveTo(sql, "assistant_sessions", id, { condition, values: [...ids, sessionNumber] });
  }
  const adopted = isMixed ? yield* rowsOfOwner(group, owner, named === null) : [];
  const { own: ofGroup, ids } = rowsOf(sql, id, sessionNumber);
  for (const rowId of adopted) {
    yield* giveTo(sql, "assistant_messages", owner, { condition: `${ofGroup}n = ?`, values: [...ids, rowId] });
  }
  yield* moveMessages(sql, group, yield* rowsOfGroup(group));
}

/** Gives misplaced summaries a row in the range of the session that they name, or else the session of their range. */
export function* repairMisplacedSummaries(
  sql: Dialect,
  { no: sessionNumber, session_id: id, owner }: Misplaced,
): Operation<void> {
  const named = yield* findSessionRows(sql, id);
  const query = `SELECT id FROM assistant_compactions WHERE n / ${SPAN} = ? AND session_id = ? ORDER BY n`;
  const ids = yield* column<string>(query, sessionNumber, id);
  for (const summaryId of ids) {
    if (named === null) {
      const known = "SELECT 1 FROM assistant_compactions WHERE session_id = ? AND id = ?";
      if (owner === null || (yield* first(known, owner, summaryId)) !== undefined) continue;
      const summary = { condition: "session_id = ? AND id = ?", values: [id, summaryId] };
      yield* giveTo(sql, "assistant_compactions", owner, summary);
      continue;
    }
    const rowId = yield* nextSummaryRow(named);
    yield* run("UPDATE assistant_compactions SET n = ? WHERE session_id = ? AND id = ?", rowId, id, summaryId);
  }
}

function* register(sql: Dialect, rows: SessionRows): Operation<void> {
  const { id, sessionNumber } = rows;
  const query = "SELECT min(created_at) AS first, max(created_at) AS last FROM assistant_messages";
  const range = [floorOf(sessionNumber), ceilingOf(sessionNumber)] as const;
  const times = yield* first<{ first: string | null; last: string | null }>(
    ...rows.where(query, "n BETWEEN ? AND ?", ...range),
  );
  yield* insertSession(sql, {
    no: sessionNumber,
    id,
    name: id,
    created_at: times?.first ?? isoNow(),
    updated_at: times?.last ?? isoNow(),
    // What the totals were worth is not known any more.
    stale: ceilingOf(sessionNumber),
  });
}

function* isEmpty(rows: SessionRows): Operation<boolean> {
  const { sessionNumber } = rows;
  return (
    (yield* first(
      ...rows.where(
        "SELECT 1 FROM assistant_messages",
        "n BETWEEN ? AND ? LIMIT 1",
        floorOf(sessionNumber),
        ceilingOf(sessionNumber),
      ),
    )) === undefined
  );
}

interface NamedRow {
  readonly n: number;
  readonly session_id: string;
}

// What a damaged text is read as, is another text when it is bound: so a group's rows are told apart here.
const inGroup = (rows: readonly NamedRow[], { session_id }: Misplaced): number[] =>
  rows.filter((row) => row.session_id === session_id).map(({ n: rowId }) => rowId);

function* rowsOfGroup(group: Misplaced): Operation<number[]> {
  const query = `SELECT n, session_id FROM assistant_messages WHERE n / ${SPAN} = ? ORDER BY n`;
  return inGroup(yield* all<NamedRow>(query, group.no), group);
}

// Of the rows in another session's range those that are its own: their parents are there, or the session that they name is not.
function* rowsOfOwner(group: Misplaced, owner: string, isGone: boolean): Operation<number[]> {
  const query = `SELECT m.n AS n, m.session_id AS session_id FROM assistant_messages m WHERE m.n / ${SPAN} = ?
     AND (${isGone ? "1 = 1" : "m.parent_id IN (SELECT p.id FROM assistant_messages p WHERE p.session_id = ?)"})
     AND m.id NOT IN (SELECT o.id FROM assistant_messages o WHERE o.session_id = ? AND o.id IS NOT NULL)
     ORDER BY m.n`;
  const rows = yield* all<NamedRow>(query, group.no, ...(isGone ? [] : [owner]), owner);
  return inGroup(rows, group);
}

// Puts rows behind the newest of the session that they name, with what stands outside them. Where they belong in its tree is
// found when the session is mended.
function* moveMessages(
  sql: Dialect,
  { no: sessionNumber, session_id: id, owner }: Misplaced,
  rowIds: readonly number[],
): Operation<void> {
  if (rowIds.length === 0) return;
  // What stands outside them may name the session in whose range they stood.
  const [ofBoth, both] = sql.layout !== "local" ? ["session_id IN (?, ?) AND ", [id, owner ?? id]] : ["", []];
  const head = yield* openSessionHead(sql, id);
  const { rows } = head;
  let newest = head.newest?.rowId ?? floorOf(head.sessionNumber);
  for (const from of rowIds) {
    newest = nextPosition(head.sessionNumber, newest);
    if (sql.layout !== "local") {
      yield* run(...rows.where("UPDATE assistant_messages SET n = ?", "n = ?", newest, from));
    } else {
      yield* run("UPDATE assistant_messages SET n = ?, session_id = ? WHERE n = ?", newest, id, from);
    }
    const target = [head.sessionNumber, newest];
    const refs = `UPDATE assistant_media_refs SET no = ?, n = ? WHERE ${ofBoth}no = ? AND n = ?`;
    yield* run(refs, ...target, ...both, sessionNumber, from);
    if (sql.layout !== "local") {
      const moved = { condition: `${ofBoth}no = ? AND n = ?`, values: [...both, ...target] };
      yield* giveTo(sql, "assistant_media_refs", id, moved);
    }
  }
  yield* run(
    `INSERT INTO assistant_media (${rows.column}no, hash, part, data)
     SELECT ${rows.mark}?, d.hash, d.part, d.data FROM assistant_media d WHERE ${ofBoth}d.no = ?
       AND d.hash IN (SELECT r.hash FROM assistant_media_refs r WHERE ${ownOf(rows, "r")}r.no = ?) ON CONFLICT DO NOTHING`,
    ...[...rows.ids, head.sessionNumber, ...both, sessionNumber],
    ...[...rows.ids, head.sessionNumber],
  );
  yield* run(...rows.whereRegistered("UPDATE assistant_sessions SET stale = ?", newest));
}

/**
 * Makes rows those of session `sessionId`, or renames a session of the registry. Rows that are spread go to that session's server,
 * where no change takes them: they are written there and deleted here. A row that the condition finds there already stays.
 */
function* giveTo(sql: Dialect, table: string, sessionId: string, { condition, values }: Condition): Operation<void> {
  const name = table === "assistant_sessions" ? "id" : "session_id";
  if (sql.layout !== "spread")
    return yield* run(`UPDATE ${table} SET ${name} = ? WHERE ${condition}`, sessionId, ...values);
  const others = (yield* sql.columns(table)).filter((column) => column !== name).join(", ");
  const elsewhere = `${condition} AND ${name} <> ?`;
  const insertion = `INSERT INTO ${table} (${name}, ${others}) SELECT ?, ${others} FROM ${table} WHERE ${elsewhere}`;
  yield* run(insertion, ...[sessionId, ...values, sessionId]);
  yield* run(`DELETE FROM ${table} WHERE ${elsewhere}`, ...values, sessionId);
}
