/**
 * An operation is a generator that yields statements and is given their rows. It never knows whether the engine is
 * synchronous, so each is written once; `run.ts` drives it.
 */
export type SqlValue = string | number | null;
export type Row = Record<string, unknown>;

export interface Statement {
  /** One statement, with `?` for each value. */
  readonly sql: string;
  readonly values: readonly SqlValue[];
  /** The rows are wanted as the values of their only column, which some engines give faster. */
  readonly column?: true;
}

export type Operation<T> = Generator<Statement, T, Row[]>;

/** The rows that a query gives. */
export function* all<R>(sql: string, ...values: SqlValue[]): Operation<R[]> {
  return (yield { sql, values }) as R[];
}

/** The first row that a query gives. */
export function* first<R>(sql: string, ...values: SqlValue[]): Operation<R | undefined> {
  return (yield { sql, values })[0] as R | undefined;
}

/** Runs a statement for its effect. */
export function* run(sql: string, ...values: SqlValue[]): Operation<void> {
  yield { sql, values };
}

/** The values of the only column that a query gives. */
export function* column<V>(sql: string, ...values: SqlValue[]): Operation<V[]> {
  return (yield { sql, values, column: true }) as V[];
}
