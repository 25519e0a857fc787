import type { CheckRule } from "../contract.js";
import type { Dialect } from "../engine/dialect.js";
import { all, type Operation, pause, run, type SqlValue } from "../engine/operation.js";
import { watchEnds } from "../operations/damage.js";
import { isScope, UPGRADED_ROWS } from "../session-id.js";
import type { Findings } from "./findings.js";

/** A row that is kept beside the messages, by a session's id and by keys. What is damaged may be of any type. */
export type KeyedRow<Column extends string = never> = Readonly<Record<Column, SqlValue>> & {
  readonly session_id: string;
  /** The number of its session; null where the registry has none. */
  readonly registered: number | null;
};

/** A table of such rows, and what holds for each. */
export interface KeyedTable<Column extends string> {
  readonly table: string;
  readonly rule: CheckRule;
  /** The columns of the primary key. */
  readonly key: readonly ("session_id" | Column)[];
  /** The other columns that are looked at. */
  readonly columns: readonly Column[];
  /** What names a row in a report. */
  readonly idOf: (row: KeyedRow<Column>) => SqlValue;
  /** What holds for a row that is right, with what is said of one for which it does not. */
  readonly rulesFor: (row: KeyedRow<Column>) => readonly (readonly [holds: boolean, message: string])[];
  /** Mends what can be without guessing at contents. `write` runs a statement for this row: the WHERE is put behind it. */
  readonly mend: (
    sql: Dialect,
    row: KeyedRow<Column>,
    write: (statement: string, ...values: SqlValue[]) => Operation<void>,
  ) => Operation<void>;
}

/** Looks at the rows of a session, or at all of a table, and mends them. */
export interface RowCheck {
  readonly table: string;
  check(sessionId: string | undefined, found: Findings): Operation<void>;
  repair(sql: Dialect, sessionId: string | undefined): Operation<void>;
}

export function rowCheck<Column extends string>(rows: KeyedTable<Column>): RowCheck {
  const { table, rule, key, idOf, rulesFor, mend } = rows;
  const where = `WHERE ${key.map((name) => `${name} = ?`).join(" AND ")}`;
  return {
    table,
    *check(sessionId, found) {
      const { looked, faulty } = yield* findFaulty(rows, sessionId);
      found.count(table, looked);
      for (const row of faulty) {
        for (const [holds, message] of rulesFor(row)) {
          if (!holds) found.add(rule, table, String(row.session_id), String(idOf(row)), message);
        }
      }
    },
    *repair(sql, sessionId) {
      for (const row of (yield* findFaulty(rows, sessionId)).faulty) {
        const keyValues = key.map((name) => row[name] as SqlValue);
        yield* mend(sql, row, (statement, ...values) => run(`${statement} ${where}`, ...values, ...keyValues));
      }
    },
  };
}

const PAGE = 64;

/** How many rows there are, and those with a fault. */
function* findFaulty<Column extends string>(
  { table, key, columns, rulesFor }: KeyedTable<Column>,
  sessionId: string | undefined,
): Operation<{ looked: number; faulty: KeyedRow<Column>[] }> {
  const names = [...key, ...columns].map((name) => `t.${name} AS ${name}`);
  const keyColumns = key.map((name) => `t.${name}`).join(", ");
  const faulty: KeyedRow<Column>[] = [];
  let looked = 0;
  let after: SqlValue[] = [];
  const endsAt = watchEnds();
  for (;;) {
    const conditions = ["1 = 1"];
    if (sessionId !== undefined) conditions.push("t.session_id = ?");
    if (after.length > 0) conditions.push(`(${keyColumns}) > (${after.map(() => "?").join(", ")})`);
    const rows: KeyedRow<Column>[] = yield* all<KeyedRow<Column>>(
      `SELECT ${names.join(", ")}, s.no AS registered
       FROM ${table} t LEFT JOIN assistant_sessions s ON s.id = t.session_id
       WHERE ${conditions.join(" AND ")} ORDER BY ${keyColumns} LIMIT ${PAGE}`,
      ...(sessionId === undefined ? [] : [sessionId]),
      ...after,
    );
    looked += rows.length;
    for (const row of rows) if (rulesFor(row).some(([holds]) => !holds)) faulty.push(row);
    const last = rows.at(-1);
    if (last === undefined) return { looked, faulty };
    after = key.map((name) => last[name] as SqlValue);
    endsAt(after);
    yield* pause();
  }
}

/**
 * True for a row whose session the registry lacks. The unnamed session has rows without one of its own; what `agents` wrote, and
 * what users have, stand below ids that no session has.
 */
export function needsSession({ session_id, registered }: KeyedRow): boolean {
  return session_id !== "" && session_id !== UPGRADED_ROWS && !isScope(String(session_id)) && registered === null;
}
