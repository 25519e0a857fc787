import type { Dialect } from "../engine/dialect.js";
import { column, type Operation, sameSession } from "../engine/operation.js";
import type { ContentRow } from "../operations/messages/content.js";

/** The row of the same message in the session that a session was forked from. */
export interface Twin {
  readonly n: number;
  readonly sessionId: string;
}

/** A row of a message that waits for its vector. */
export interface WaitingRow extends ContentRow {
  readonly session_id: string;
  readonly twin: number | null;
  /** The session of the twin. */
  readonly parent: string | null;
}

const PARENT = "(SELECT s.parent_session_id FROM assistant_sessions s WHERE s.id = m.session_id)";

/** Where the parent's rows may be on another server, see `findTwin`: a statement that locks rows names no other table there. */
export const WAITING_COLUMNS = (sql: Dialect, embedder: number) => {
  const [twin, parent] = sql.layout === "spread" ? ["NULL", "NULL"] : [twinOf(sql, embedder), PARENT];
  return `m.n AS n, m.session_id AS session_id, m.content AS content, ${twin} AS twin, ${parent} AS parent`;
};

const twinOf = (sql: Dialect, embedder: number) => `(
  SELECT v.n FROM assistant_sessions s
  JOIN assistant_messages p ON p.session_id = s.parent_session_id AND p.id = m.id AND p.content = m.content
  JOIN assistant_vectors v ON ${sameSession(sql, "v", "p")}v.n = p.n
  WHERE s.id = m.session_id AND v.embedder = ${embedder} AND v.vector IS NOT NULL)`;

/** Of a message in a fork. Its session names the one whose rows are looked at. */
export function* findTwin({ n: rowId, session_id, content }: WaitingRow, embedder: number): Operation<Twin | null> {
  const findParent = "SELECT parent_session_id FROM assistant_sessions WHERE id = ?";
  const [parent] = yield* column<string | null>(findParent, session_id);
  if (parent === null || parent === undefined) return null;
  const findId = "SELECT id FROM assistant_messages WHERE session_id = ? AND n = ?";
  const [id] = yield* column<string>(findId, session_id, rowId);
  const [twin] = yield* column<number>(
    `SELECT v.n FROM assistant_messages p JOIN assistant_vectors v ON v.session_id = p.session_id AND v.n = p.n
     WHERE p.session_id = ? AND p.id = ? AND p.content = ? AND v.embedder = ? AND v.vector IS NOT NULL`,
    ...[parent, id ?? "", content, embedder],
  );
  return twin === undefined ? null : { n: twin, sessionId: parent };
}

/** The twin that such a row names. */
export function twinIn({ twin, parent }: WaitingRow): Twin | null {
  return twin === null || parent === null ? null : { n: twin, sessionId: parent };
}
