import type { Dialect } from "../engine/dialect.js";
import { all, first, type Operation } from "../engine/operation.js";
import { ceilingOf, findSessionNumber, floorOf, SPAN } from "../operations/registry/session-head.js";
import type { Findings } from "./findings.js";

/** Rows of messages that say they are of a session in whose range they do not stand. */
export interface Misplaced {
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

/** Tells of them in both tables. */
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
