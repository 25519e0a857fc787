import { yieldIfDue } from "@stemma/model";
import type { SyncConnection } from "./connection.js";
import { type Operation, oneByOne, PAUSE, type Row, type Statement } from "./operation.js";
import { isIllFormed, withoutUnstorable } from "./storable.js";

/** Runs an operation on a connection that answers at once. */
export function driveSync<T>(operation: Operation<T>, connection: SyncConnection): T {
  let step = operation.next();
  while (!step.done) step = operation.next(answerSync(connection, step.value));
  return step.value;
}

/** Up to a pause before which the condition no longer held, or to the end. */
export function driveWhile<T>(
  mayGoOn: () => boolean,
  operation: Operation<T>,
  connection: SyncConnection,
): IteratorResult<Statement, T> {
  let step = operation.next([]);
  while (!step.done && (step.value !== PAUSE || mayGoOn())) step = operation.next(answerSync(connection, step.value));
  return step;
}

/**
 * Runs an operation until it is done, or a statement after which the condition no longer holds: then `rows` are what it goes on
 * with. It begins with those of the time before.
 */
export function driveSome<T>(
  mayGoOn: () => boolean,
  operation: Operation<T>,
  connection: SyncConnection,
  rows: Row[],
): { readonly done: true; readonly value: T } | { readonly done: false; readonly rows: Row[] } {
  let step = operation.next(rows);
  while (!step.done) {
    const answer = answerSync(connection, step.value);
    if (!mayGoOn()) return { done: false, rows: answer };
    step = operation.next(answer);
  }
  return { done: true, value: step.value };
}

function answerSync(connection: SyncConnection, given: Statement): Row[] {
  if (given === PAUSE) return [];
  const statement = withoutUnstorable(given, isIllFormed);
  const { as } = statement;
  if (as === undefined) return connection.query(statement);
  const found = connection[as]?.(statement);
  if (found !== undefined) return found as Row[];
  const answer =
    as === "each" || as === "times"
      ? driveSync(oneByOne(statement), connection)
      : inForm(as, connection.query(plain(statement)));
  return answer as Row[];
}

/** Runs an operation on a connection that is waited for. */
export async function driveAsync<T>(
  operation: Operation<T>,
  query: (statement: Statement) => Promise<Row[]>,
): Promise<T> {
  let step = operation.next();
  while (!step.done) {
    if (step.value === PAUSE) {
      const due = yieldIfDue();
      if (due !== null) await due;
      step = operation.next([]);
      continue;
    }
    step = operation.next(await answerAsync(step.value, query));
  }
  return step.value;
}

async function answerAsync(statement: Statement, query: (statement: Statement) => Promise<Row[]>): Promise<Row[]> {
  const { as } = statement;
  if (as === undefined) return query(statement);
  const given =
    as === "each" || as === "times"
      ? await driveAsync(oneByOne(statement), query)
      : inForm(as, await query(plain(statement)));
  return given as Row[];
}

// The statement that gives as rows what its form is made from.
function plain(statement: Statement): Statement {
  return statement.as === "count" ? { ...statement, sql: `${statement.sql} RETURNING 1` } : statement;
}

function inForm(as: Exclude<Statement["as"], "each" | "times" | undefined>, rows: Row[]): unknown {
  if (as === "count") return rows.length;
  const names = Object.keys(rows[0] ?? {});
  if (as === "tuples") return rows.map((row) => names.map((name) => row[name]));
  return rows.map((row) => row[names[0] as string]);
}
