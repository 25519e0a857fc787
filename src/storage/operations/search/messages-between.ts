import type { Dialect } from "../../engine/dialect.js";
import type { SqlValue } from "../../engine/operation.js";

/** Where a look at the messages of all sessions is: behind this row. They come by session where rows name theirs, else by number. */
export interface ReadTo {
  readonly rowId: number;
  /** "" where rows do not name their session. */
  readonly sessionId: string;
}

/** A query of messages `m` of all sessions behind a row, up to another one or all, in order. */
export function messagesBetween(
  { namesSessions }: Dialect,
  columns: string,
  after: ReadTo,
  to: ReadTo | null,
): [sql: string, ...values: SqlValue[]] {
  const bounds: readonly (readonly [string, ReadTo])[] = [[">", after], ...(to === null ? [] : [["<=", to] as const])];
  const [key, mark, order] = namesSessions
    ? ["(m.session_id, m.n)", "(?, ?)", "m.session_id, m.n"]
    : ["m.n", "?", "m.n"];
  const rows = bounds.map(([is]) => `${key} ${is} ${mark}`).join(" AND ");
  const values = bounds.flatMap(([, { rowId, sessionId }]) => (namesSessions ? [sessionId, rowId] : [rowId]));
  return [`SELECT ${columns} FROM assistant_messages m WHERE ${rows} ORDER BY ${order}`, ...values];
}
