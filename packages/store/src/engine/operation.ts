/**
 * An operation is a generator that yields statements and is given their rows. It never knows whether the engine is
 * synchronous, so each is written once; `runner.ts` runs it.
 */
export type SqlValue = string | number | null | Uint8Array;
export type Row = Record<string, unknown>;

export interface Statement {
  /** One statement, with `?` for each value. */
  readonly sql: string;
  readonly values: readonly SqlValue[];
  /**
   * The form of the answer: rows unless said otherwise. Some engines give `tuples` (rows as arrays of their values) and
   * `column` (the values of the only column) faster. `count` is the number of rows that a statement wrote. `each` runs it with
   * each of `rows`, for its effect. `times` is how many of `rows` it wrote so, up to the first that it did not write.
   */
  readonly as?: "tuples" | "column" | "count" | "each" | "times";
  readonly rows?: readonly (readonly SqlValue[])[];
  /** Its text is one of a few that are sent again and again: a server may keep what it made of it. */
  readonly isFrequent?: boolean;
  /** The statement as which it may be run with others, of other sessions: `append.ts` of Postgres does it. */
  readonly together?: Together | undefined;
}

/** A statement that does what several others do. */
export interface Together {
  /** It binds one value: a JSON array of what each of them gives here. Its answer is one text, a JSON array. */
  readonly sql: string;
  readonly given: object;
}

export type Operation<T> = Generator<Statement, T, Row[]>;

/** Not run, but a point at which an operation may be interrupted. */
export const PAUSE: Statement = { sql: "", values: [] };

/** Lets others work, where the operation is run in steps: what it reads next may be what they wrote. */
export function* pause(): Operation<void> {
  yield PAUSE;
}

/** The results of `make` for each item, with pauses. */
export function* mapWithPauses<T, R>(items: readonly T[], make: (item: T) => R): Operation<R[]> {
  const made: R[] = [];
  for (const item of items) {
    made.push(make(item));
    yield PAUSE;
  }
  return made;
}

/** The rows that a query gives. */
export function* all<R>(sql: string, ...values: SqlValue[]): Operation<R[]> {
  return (yield { sql, values }) as R[];
}

/** The first row that a query gives. */
export function* first<R>(sql: string, ...values: SqlValue[]): Operation<R | undefined> {
  return (yield { sql, values })[0] as R | undefined;
}

/** The rows that a query gives, each as the values of its columns. */
export function* tuples<T extends readonly SqlValue[]>(sql: string, ...values: SqlValue[]): Operation<T[]> {
  return (yield { sql, values, as: "tuples" }) as unknown as T[];
}

/** Runs an INSERT, an UPDATE or a DELETE without RETURNING. Gives how many rows it wrote. */
export function* count(sql: string, ...values: SqlValue[]): Operation<number> {
  return (yield { sql, values, as: "count" }) as unknown as number;
}

/** Inserts a row: a value for each of its columns, and `end` behind them. Gives whether it was written. */
export function* insert(table: string, row: Readonly<Record<string, SqlValue>>, end = ""): Operation<boolean> {
  const values = Object.values(row);
  const marks = values.map(() => "?").join(", ");
  const text = `INSERT INTO ${table} (${Object.keys(row).join(", ")}) VALUES (${marks})${end}`;
  return (yield* count(text, ...values)) > 0;
}

/** For a row that may be there: then it stays. */
export const OR_KEEP = " ON CONFLICT DO NOTHING";

/** Runs an INSERT with each of some rows, up to the first that it does not write. Gives how many it wrote. */
export function* insertEach(sql: string, rows: readonly (readonly SqlValue[])[]): Operation<number> {
  return (yield { sql, values: [], rows, as: "times" }) as unknown as number;
}

/** Runs a statement with each of some rows, for its effect. */
export function* runEach(sql: string, rows: readonly (readonly SqlValue[])[]): Operation<void> {
  if (rows.length > 0) yield { sql, values: [], rows, as: "each" };
}

/** Runs a statement with all of its `rows`, for a connection that has no faster way. */
export function* oneByOne({ sql, rows = [], as }: Statement): Operation<number> {
  let times = 0;
  for (const values of rows) {
    if (as === "each") yield* run(sql, ...values);
    else if ((yield* count(sql, ...values)) === 0) break;
    times += 1;
  }
  return times;
}

/** Runs a statement for its effect. */
export function* run(sql: string, ...values: SqlValue[]): Operation<void> {
  yield { sql, values };
}

/** The values of the only column that a query gives. */
export function* column<V>(sql: string, ...values: SqlValue[]): Operation<V[]> {
  return (yield { sql, values, as: "column" }) as V[];
}

/** The only value that a query gives, a number; 0 where it gives none. */
export function* oneNumber(sql: string, ...values: SqlValue[]): Operation<number> {
  return Number((yield* column<number | null>(sql, ...values))[0] ?? 0);
}

/** A condition with the values that it binds. */
export interface Condition {
  readonly condition: string;
  readonly values: readonly SqlValue[];
}

/**
 * Where an engine has its rows, from which the rest follows.
 *
 * - `local`: in a database of this process. The number of a row alone tells its session, and who registers a session gives it a
 *   number. A statement may name the columns of a key, and what it takes long for is divided (`inPortions`). The search index may lag
 *   behind, with notes in `assistant_unindexed`.
 * - `server`: each row names its session by its id, and so does each statement of one session; the table gives sessions their
 *   numbers. No statement names the columns of a key, to which tenants may have added one. A message's searchable text has a column
 *   of its own, `text_content`, as in the engine's documented table.
 * - `spread`: as on a server, on several of them by session. So a statement of several sessions joins rows of one session only with
 *   each other.
 */
export type Layout = "local" | "server" | "spread";

interface Laid {
  readonly layout: Layout;
}

/**
 * The rows of one session, and how a statement says so. Where rows name their session, each statement does; where their
 * numbers alone tell, these fragments are empty and bind nothing. So an operation is written once.
 */
export class SessionRows {
  declare readonly layout: Layout;
  declare readonly id: string;
  /** Row ids begin with it. Where rows name their session, several may have it. */
  declare readonly sessionNumber: number;
  /** Begins a condition on its rows, and on its row of `assistant_sessions`. Each binds `ids` where it stands. */
  declare readonly own: "" | "session_id = ? AND ";
  declare readonly registered: "" | "id = ? AND ";
  declare readonly ids: readonly string[];
  /** Begins the columns of an INSERT, and the values, which bind `ids` as well. */
  declare readonly column: "" | "session_id, ";
  declare readonly mark: "" | "?, ";

  constructor(layout: Layout, id: string, sessionNumber: number) {
    const isNamed = layout !== "local";
    this.layout = layout;
    this.id = id;
    this.sessionNumber = sessionNumber;
    this.own = isNamed ? OWN : "";
    this.registered = isNamed ? "id = ? AND " : "";
    this.ids = isNamed ? [id] : NO_IDS;
    this.column = isNamed ? "session_id, " : "";
    this.mark = isNamed ? "?, " : "";
  }

  /** A statement, `head WHERE condition`, of no rows but the session's. `values` are those of the two, in this order. */
  where(head: string, condition: string, ...values: SqlValue[]): [sql: string, ...values: SqlValue[]] {
    return whereOf(`${head} WHERE ${this.own}${condition}`, head, this.ids, values);
  }

  /** A statement of the session's rows of a table that has its number, `no`, for which `more` holds too. `head` binds no values. */
  whereNumber(head: string, more = "", ...values: SqlValue[]): [sql: string, ...values: SqlValue[]] {
    return [`${head} WHERE ${this.own}no = ?${more}`, ...this.ids, this.sessionNumber, ...values];
  }

  /** A statement, `head WHERE …`, of the session's row in `assistant_sessions`. `values` are those of `head`. */
  whereRegistered(head: string, ...values: SqlValue[]): [sql: string, ...values: SqlValue[]] {
    return whereOf(`${head} WHERE ${this.registered}no = ?`, head, this.ids, [...values, this.sessionNumber]);
  }
}

const OWN = "session_id = ? AND ";
const NO_IDS: readonly string[] = [];

function whereOf(
  sql: string,
  head: string,
  ids: readonly string[],
  values: readonly SqlValue[],
): [sql: string, ...values: SqlValue[]] {
  const before = ids.length === 0 ? 0 : head.split("?").length - 1;
  return [sql, ...values.slice(0, before), ...ids, ...values.slice(before)];
}

export function rowsOf({ layout }: Laid, id: string, sessionNumber: number): SessionRows {
  return new SessionRows(layout, id, sessionNumber);
}

/**
 * SQL for a number by which sessions `s` come in the order in which they were registered, and for what comes behind it: of
 * equals the id decides, where there may be any.
 */
export function registeredOrder({ layout }: Laid): { readonly by: string; readonly ties: readonly string[] } {
  return layout === "local" ? { by: "s.no", ties: [] } : { by: "s.registered", ties: ["s.id"] };
}

/** The values that `own` of a session's rows binds. */
export function idsOf({ layout }: Laid, id: string): readonly string[] {
  return layout !== "local" ? [id] : NO_IDS;
}

/** `own` of the rows that a statement calls `alias`. */
export function ownOf({ layout }: Laid, alias: string): string {
  return layout !== "local" ? `${alias}.${OWN}` : "";
}

/** Begins a condition that is true for rows of one session. */
export function sameSession({ layout }: Laid, row: string, other: string): string {
  return layout !== "local" ? `${row}.session_id = ${other}.session_id AND ` : "";
}

/** Begins a condition that is true for a row of the session `s`. */
export function ofSession({ layout }: Laid, row: string): string {
  return layout !== "local" ? `${row}.session_id = s.id AND ` : "";
}
