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
  findSessionNumber,
  findSessionRows,
  floorOf,
  insertSession,
  isoNow,
  nextPosition,
  openSessionHead,
  SPAN,
} from "../operations/registry/session-head.js";
import type { Findings } from "./findings.js";

/** Rows of messages that say they are of a session in whose range they do not stand. */
interface Misplaced {
  /** The number of the range in which they stand. */
  readonly no: number;
  readonly session_id: string;
  /** The id that the registry has for that number; null where it has none, or several. */
  readonly owner: string | null;
  readonly count: number;
  readonly id: string;
}

const ofSession = (sessionId: string | undefined, own: string) =>
  sessionId === undefined ? "" : ` AND (${own} = ? OR s.id = ?)`;

const valuesOf = (sessionId: string | undefined) => (sessionId === undefined ? [] : [sessionId, sessionId]);

/** Finds them, by range and session. */
export function findMisplaced(
  sql: Dialect,
  table: "assistant_messages" | "assistant_compactions",
  sessionId?: string,
): Operation<Misplaced[]> {
  if (sql.layout !== "local") return findNamed(table, sessionId);
  const query = `SELECT m.n / ${SPAN} AS no, m.session_id AS session_id, s.id AS owner, count(*) AS count, min(m.id) AS id
     FROM ${table} m LEFT JOIN assistant_sessions s ON s.no = m.n / ${SPAN}
     WHERE (s.id IS NULL OR s.id <> m.session_id)${ofSession(sessionId, "m.session_id")}
     GROUP BY m.n / ${SPAN}, m.session_id, s.id ORDER BY 1, 2`;
  return all<Misplaced>(query, ...valuesOf(sessionId));
}

// A row names its session, and so that one's number. Whose the row's number is otherwise, several sessions may say.
function* findNamed(table: string, sessionId: string | undefined): Operation<Misplaced[]> {
  const own = sessionId === undefined ? null : [sessionId, (yield* findSessionNumber(sessionId)) ?? -1];
  const query = `SELECT m.n / ${SPAN} AS no, m.session_id AS session_id, NULL AS owner, count(*) AS count, min(m.id) AS id
     FROM ${table} m LEFT JOIN assistant_sessions s ON s.id = m.session_id
     WHERE (s.no IS NULL OR s.no <> m.n / ${SPAN})${own === null ? "" : ` AND (m.session_id = ? OR m.n / ${SPAN} = ?)`}
     GROUP BY m.n / ${SPAN}, m.session_id ORDER BY 1, 2`;
  const groups = yield* all<Misplaced>(query, ...(own ?? []));
  if (groups.length === 0) return groups;
  const numbers = [...new Set(groups.map((group) => group.no))].join(",");
  const registered = `SELECT no, id FROM assistant_sessions WHERE no IN (${numbers}) ORDER BY id DESC`;
  const owners = yield* all<{ no: number; id: string }>(registered);
  const found: Misplaced[] = [];
  for (const group of groups) {
    const candidates = owners.filter(({ no: sessionNumber }) => sessionNumber === group.no).map(({ id }) => id);
    found.push({ ...group, owner: yield* ownerAmong(table, group, candidates) });
  }
  return found;
}

// Of sessions that share the number of misplaced rows the one whose the first of them is: it has the message that the row
// refers to, and none in its place. The first row of a session that the registry lost refers to none.
function* ownerAmong(table: string, group: Misplaced, candidates: readonly string[]): Operation<string | null> {
  if (candidates.length < 2) return candidates[0] ?? null;
  const isMessage = table === "assistant_messages";
  const row = yield* first<{ n: number; ref: string | null }>(
    `SELECT n, ${isMessage ? "parent_id" : "from_message_id"} AS ref FROM ${table}
     WHERE session_id = ? AND n BETWEEN ? AND ? ORDER BY n LIMIT 1`,
    ...[group.session_id, floorOf(group.no), ceilingOf(group.no)],
  );
  const fitting: string[] = [];
  for (const id of row?.ref == null ? [] : candidates) {
    const isTaken = yield* first(`SELECT 1 FROM ${table} WHERE session_id = ? AND n = ?`, id, row?.n ?? 0);
    const has = "SELECT 1 FROM assistant_messages WHERE session_id = ? AND id = ?";
    if (isTaken === undefined && (yield* first(has, id, row?.ref ?? "")) !== undefined) fitting.push(id);
  }
  return fitting.length === 1 ? (fitting[0] as string) : null;
}

export function* checkMisplaced(sql: Dialect, sessionId: string | undefined, found: Findings): Operation<void> {
  for (const table of ["assistant_messages", "assistant_compactions"] as const) {
    for (const { session_id, owner, count, id } of yield* findMisplaced(sql, table, sessionId)) {
      const where = owner === null ? "no session of the registry" : `session "${owner}"`;
      const isOne = Number(count) === 1;
      const which = isOne ? `Row "${id}"` : `${count} rows, "${id}" the first by its id,`;
      const message = `${which} stand in the range of ${where}.`;
      found.add("place", table, String(session_id), isOne ? String(id) : null, message);
    }
  }
}

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
