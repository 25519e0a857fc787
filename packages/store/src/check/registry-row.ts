import { isStorableText, isStoredMetadata } from "@stemma/model";
import type { Dialect } from "../engine/dialect.js";
import { all, first, type Operation, run } from "../engine/operation.js";
import { makeRow, parseSkills, type SessionRow, sessionOf } from "../operations/registry/session-head.js";
import type { ListedSession } from "../operations/registry/sessions.js";
import { isReserved } from "../sql/session-id.js";
import { type Findings, isText, isTextOrNull, isTime, isWhole } from "./findings.js";
import { needsSession, rowCheck } from "./row-check.js";
/** A row of `assistant_sessions`. */
export interface RegisteredSession extends ListedSession, SessionRow {
  readonly changes: number;
  readonly appended_until: string | null;
  readonly learned: number | null;
  readonly counted_to: number | null;
  readonly counted: number | null;
  readonly counted_all: number | null;
}

/** The columns of a registry row that hold what they never should. */
export function faultsOf(session: RegisteredSession): string[] {
  const { no: sessionNumber, leaf, stale, skills } = session;
  const isOwn = (rowId: number) => Number.isSafeInteger(rowId) && sessionOf(rowId) === sessionNumber;
  const rules: Record<string, boolean> = {
    id: isText(session.id),
    name: isText(session.name),
    parent_session_id: isTextOrNull(session.parent_session_id),
    model: isTextOrNull(session.model),
    source: isTextOrNull(session.source),
    end_reason: isTextOrNull(session.end_reason),
    user_id: isTextOrNull(session.user_id),
    metadata: isStoredMetadata(session.metadata),
    input_tokens: Number.isFinite(session.input_tokens),
    output_tokens: Number.isFinite(session.output_tokens),
    estimated_cost: Number.isFinite(session.estimated_cost),
    created_at: isTime(session.created_at),
    updated_at: isTime(session.updated_at),
    leaf: leaf === null || leaf === 0 || isOwn(leaf),
    changes: isWhole(Number(session.changes)),
    stale: stale === null || isOwn(stale),
    appended_until: session.appended_until === null || isTime(session.appended_until),
    counted_to: session.counted_to === null || isOwn(session.counted_to),
    counted: session.counted === null || isWhole(session.counted),
    counted_all: session.counted_all === null || isWhole(session.counted_all),
    learned: session.learned === null || session.learned === 1,
    skills: skills === null || (isText(skills) && parseSkills(skills) !== null),
  };
  return Object.keys(rules).filter((column) => !rules[column]);
}

/** Holds a session's row of the registry against the rules. */
export function checkRegistryRow(session: RegisteredSession, found: Findings): void {
  for (const column of faultsOf(session)) {
    found.add("session", "assistant_sessions", session.id, null, `The column ${column} holds what it never should.`);
  }
  if (!isText(session.id) || (!isReserved(session.id) && isStorableText(session.id))) return;
  const message =
    "No call takes its id: it is reserved, or holds NUL. Give it another one, in every table that names it.";
  found.add("session", "assistant_sessions", session.id, null, message);
}

const NUMBERED = ["assistant_branches", "assistant_media_refs", "assistant_media"] as const;
const unregistered = ({ layout }: Dialect, table: string) =>
  layout !== "local"
    ? `NOT EXISTS (SELECT 1 FROM assistant_sessions s WHERE s.id = ${table}.session_id AND s.no = ${table}.no)`
    : "no NOT IN (SELECT s.no FROM assistant_sessions s)";

/** Rows that are kept by the number of a session that is not there. */
export function* checkUnregistered(sql: Dialect, found: Findings): Operation<void> {
  const names = sql.layout !== "local" ? "no, session_id" : "no";
  for (const table of NUMBERED) {
    const query = `SELECT DISTINCT ${names} FROM ${table} WHERE ${unregistered(sql, table)}`;
    for (const { no: sessionNumber } of yield* all<{ no: number }>(query)) {
      const message = `Session ${sessionNumber}, for which rows are kept, is not in the registry.`;
      found.add("place", table, null, null, message);
    }
  }
}

/** Removes them. Comes last: what a session lacks is looked for among them. */
export function* repairUnregistered(sql: Dialect, keepMedia: boolean): Operation<void> {
  for (const table of NUMBERED) {
    if (!(keepMedia && table === "assistant_media"))
      yield* run(`DELETE FROM ${table} WHERE ${unregistered(sql, table)}`);
  }
}

const COUNTERS = ["requests", "input_tokens", "output_tokens"] as const;

// Drivers of Postgres give a BIGINT as a text. A program may take tokens back, so sums may be below 0.
const isCount = (value: unknown) => isWhole(Number(value), Number.MIN_SAFE_INTEGER);

const isDay = (value: unknown) => /^\d{4}-\d\d-\d\d$/.test(String(value));

/** Stands for a day that nobody knows any more. */
const LOST_DAY = "1970-01-01";

export const USAGE = rowCheck({
  table: "assistant_usage",
  rule: "usage",
  key: ["session_id", "day", "model"],
  columns: ["requests", "input_tokens", "output_tokens", "cost"],
  idOf: ({ day, model }) => `${day} ${model}`,
  rulesFor: (row) => [
    [!needsSession(row), "Its session is not in the registry."],
    [isText(row.session_id) && isText(row.model), "Its session or its model is no text."],
    [isDay(row.day), "Its day is none."],
    [COUNTERS.every((name) => isCount(row[name])), "One of its counters is no whole number."],
    [Number.isFinite(row.cost), "Its cost is no number."],
  ],
  *mend(sql, row, write) {
    if (needsSession(row) && isText(row.session_id)) yield* makeRow(sql, row.session_id);
    for (const name of COUNTERS) if (!isCount(row[name])) yield* write(`UPDATE assistant_usage SET ${name} = 0`);
    if (!Number.isFinite(row.cost)) yield* write("UPDATE assistant_usage SET cost = 0");
    if (isDay(row.day)) return;
    const known = "SELECT 1 FROM assistant_usage WHERE session_id = ? AND day = ? AND model = ?";
    const isTaken = (yield* first(known, row.session_id, LOST_DAY, row.model)) !== undefined;
    if (!isTaken) yield* write("UPDATE assistant_usage SET day = ?", LOST_DAY);
  },
});
