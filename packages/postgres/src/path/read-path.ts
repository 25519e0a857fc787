import {
  hideUnloaded,
  isSummaryMessage,
  jsonBytes,
  type SessionMessage,
  summaryMessage,
  takeRecent,
} from "@stemma/model";
import type { CorruptHandler, Operation, PathOptions, RecentHistory, RecentOptions, SqlValue } from "@stemma/store";
import { messageNotFound, owned, readContents, rowsOf, SPAN, sessionOf, skillsOf, storedBytes } from "@stemma/store";
import { messageOf } from "../append/append.js";
/** What `assistant_path` and `assistant_recent` read first, with the rows that they begin with. */
export const VIEW_VARIABLES = `  session RECORD;
  leaf RECORD;
  piece RECORD;
  lowest BIGINT;
  numbered BOOLEAN;`;

export const FIND_VIEW = `  SELECT s.no, s.leaf, s.skills, s.user_id INTO session FROM assistant_sessions s WHERE s.id = p_session;
  IF NOT FOUND THEN RETURN; END IF;
  lowest := session.no * ${SPAN};
  numbered := session.skills IS NOT NULL;
  IF p_leaf IS NOT NULL THEN
    SELECT m.n, m.branch INTO leaf FROM ${messageOf("m", "id", "p_leaf")};
  ELSIF session.leaf IS NOT NULL THEN
    SELECT m.n, m.branch INTO leaf FROM ${messageOf("m", "n", "session.leaf")};
  ELSE
    SELECT m.n, m.branch INTO leaf FROM assistant_messages m
      WHERE m.session_id = p_session AND m.n BETWEEN lowest AND lowest + ${SPAN - 1} ORDER BY m.n DESC LIMIT 1;
  END IF;
  RETURN QUERY SELECT NULL::TEXT,
    json_build_object('no', session.no, 'leaf', leaf.n, 'chosen', session.leaf, 'skills', session.skills,
      'user', session.user_id)::TEXT;
  IF leaf.n IS NULL THEN RETURN; END IF;`;

/** Whether the path is a line without compactions, which is one span. */
export const IS_LINE = `leaf.branch = 0 AND NOT EXISTS (
    SELECT FROM assistant_compactions c WHERE c.session_id = p_session AND c.n BETWEEN lowest AND lowest + ${SPAN - 1})`;

/** The spans of the visible path, each a `piece` in SQL: ranges of messages of a branch, and summaries; one at 0 where the rows do not fit together. */
export const SPANS = `WITH RECURSIVE chain (branch, lo, hi, parent_branch, parent_n, known) AS (
        SELECT leaf.branch, coalesce(b.lo, lowest), leaf.n, b.parent_branch, b.parent_n, leaf.branch = 0 OR b.no IS NOT NULL
          FROM (SELECT) AS one LEFT JOIN assistant_branches b
            ON b.session_id = p_session AND b.no = session.no AND b.branch = leaf.branch
        -- UNION, not UNION ALL: damaged rows may make a circle.
        UNION
        SELECT c.parent_branch, coalesce(b.lo, lowest), c.parent_n, b.parent_branch, b.parent_n,
               c.parent_branch = 0 OR b.no IS NOT NULL
          FROM chain c LEFT JOIN assistant_branches b
            ON b.session_id = p_session AND b.no = session.no AND b.branch = c.parent_branch
          WHERE c.parent_branch IS NOT NULL
      ), broken AS (
        SELECT FROM chain s WHERE NOT s.known OR s.lo > s.hi OR (s.parent_branch IS NULL) <> (s.parent_n IS NULL)
        UNION ALL
        SELECT FROM assistant_compactions c LEFT JOIN LATERAL (
          SELECT m.n FROM ${messageOf("m", "n", "c.to_n")}) AS m ON TRUE
          WHERE c.session_id = p_session AND c.n BETWEEN lowest AND lowest + ${SPAN - 1} AND (c.to_n IS NOT NULL OR c.from_n IS NOT NULL)
          AND (m.n IS NULL OR coalesce(c.from_n > c.to_n, TRUE) OR c.from_n < lowest)
      ), compactions AS (
        -- Whoever has a compaction's end on its path has its whole range there.
        SELECT c.id, c.summary, c.from_n, int8range(c.from_n, c.to_n, '[]') AS range,
               row_number() OVER (ORDER BY c.n DESC) AS age
          FROM assistant_compactions c CROSS JOIN LATERAL (
            SELECT m.n, m.branch FROM ${messageOf("m", "n", "c.to_n")}) AS m
          JOIN chain s ON s.branch = m.branch AND m.n BETWEEN s.lo AND s.hi
          WHERE c.session_id = p_session AND c.n BETWEEN lowest AND lowest + ${SPAN - 1}
      ), chosen (age, covered, taken) AS (
        -- The newest wins wherever two overlap.
        SELECT 0::BIGINT, '{}'::INT8MULTIRANGE, FALSE
        UNION ALL
        SELECT o.age,
               CASE WHEN c.covered && o.range THEN c.covered ELSE c.covered + int8multirange(o.range) END,
               NOT c.covered && o.range
          FROM chosen c JOIN compactions o ON o.age = c.age + 1
      )
      SELECT s.branch, lower(part) AS lo, upper(part) - 1 AS hi, NULL AS id, NULL AS summary
        FROM chain s CROSS JOIN (SELECT c.covered FROM chosen c ORDER BY c.age DESC LIMIT 1) AS whole
        CROSS JOIN LATERAL unnest(int8multirange(int8range(s.lo, s.hi, '[]')) - whole.covered) AS part
        WHERE s.lo <= s.hi
      UNION ALL
      SELECT NULL, o.from_n, NULL, o.id, o.summary FROM compactions o JOIN chosen c ON c.age = o.age AND c.taken
      UNION ALL
      SELECT NULL, 0, NULL, NULL, NULL WHERE EXISTS (SELECT FROM broken)`;

/** What both functions do first with a span: nothing is given of rows that do not fit together. */
export const GIVE_SUMMARY = `IF piece.lo = 0 THEN
        RETURN QUERY SELECT 'x', NULL;
        RETURN;
      ELSIF piece.id IS NOT NULL THEN
        RETURN QUERY SELECT 's' || piece.id, piece.summary;`;

/** See `NativeOperations.path`. */
export function* readPath(
  sessionId: string,
  { leafId, onCorrupt }: PathOptions,
  userId: string | undefined,
): Operation<SessionMessage[] | null> {
  if (!isMessageId(leafId ?? "")) return null;
  const rows = yield* callPath("SELECT key, content FROM assistant_path(?, ?)", sessionId, leafId ?? null);
  const found = yield* readView(rows, sessionId, leafId, userId);
  if (found === null) return null;
  const { session, messages } = found;
  if (messages.length === found.rows.length && session.skills === null) return messages;
  return shownOf(found, onCorrupt).map(({ message }) => message);
}

/** See `NativeOperations.recent`. */
export function* readRecent(
  sessionId: string,
  { leafId, onCorrupt, maxBytes, minMessages }: RecentOptions,
  userId: string | undefined,
): Operation<RecentHistory | null> {
  if (!isMessageId(leafId ?? "")) return null;
  const path = "SELECT key, content FROM assistant_recent(?, ?, ?, ?)";
  const whole = (limit: number) => Math.min(Math.floor(limit), Number.MAX_SAFE_INTEGER);
  const rows = yield* callPath(path, sessionId, leafId ?? null, whole(maxBytes), whole(minMessages));
  const isCut = rows.at(-1)?.key === "m";
  if (isCut) rows.pop();
  const found = yield* readView(rows, sessionId, leafId, userId);
  if (found === null) return null;
  const { take, done } = takeRecent(maxBytes, minMessages);
  for (const { message, content } of shownOf(found, onCorrupt)) {
    const bytes = content === null ? jsonBytes(message) : storedBytes(message, content);
    if (!take(message, bytes)) return done(true);
  }
  // As they are shown, messages may be shorter than their rows.
  return isCut ? null : done(false);
}

function* callPath(sql: string, ...values: SqlValue[]): Operation<PathRow[]> {
  return (yield { sql, values, isFrequent: true }) as unknown as PathRow[];
}

interface NativeView {
  readonly session: PathHead;
  readonly rows: readonly PathRow[];
  /** Those of the rows that are no summaries, as they are stored. */
  readonly messages: SessionMessage[];
}

// Null for what is left to the shared operation: which row is damaged, it tells.
function* readView(
  [head, ...rows]: readonly PathRow[],
  sessionId: string,
  leafId: string | undefined,
  userId: string | undefined,
): Operation<NativeView | null> {
  const session = head === undefined ? NOWHERE : (JSON.parse(head.content) as PathHead);
  if (userId !== undefined && typeof session.user === "string" && session.user !== userId) throw owned(sessionId);
  if (isDamaged(session, rows)) return null;
  if (session.leaf === null) {
    return leafId === undefined ? { session, rows, messages: [] } : messageNotFound(sessionId, leafId);
  }
  const stored = rows.filter((row) => !isSummary(row)).map(({ content }) => content);
  let isCorrupt = false;
  const messages = yield* readContents(rowsOf(NAMED, sessionId, session.no), stored, null, () => {
    isCorrupt = true;
  });
  return isCorrupt ? null : { session, rows, messages: messages as SessionMessage[] };
}

// Messages and summaries as they are shown.
function shownOf({ session, rows, messages }: NativeView, onCorrupt: CorruptHandler): Shown[] {
  const skills = skillsOf({ sessionNumber: session.no, skills: session.skills }, onCorrupt);
  let next = 0;
  return rows.map(({ key, content }) => {
    if (key?.startsWith("s") === true) {
      return { message: summaryMessage({ id: key.slice(1), summary: content }), content: null };
    }
    const stored = messages[next] as SessionMessage;
    next += 1;
    const message = key === null ? stored : hideUnloaded(stored, Number(key.slice(1)), skills);
    return { message, content: message === stored ? content : null };
  });
}

interface Shown {
  readonly message: SessionMessage;
  /** As it is stored; null where it is shown otherwise. */
  readonly content: string | null;
}

interface PathRow {
  /** Of a message null, or "n" and its number; of a summary "s" and the id of its compaction. */
  readonly key: string | null;
  readonly content: string;
}

const isSummary = (row: PathRow): row is PathRow & { key: string } => row.key?.startsWith("s") === true;

// What is wrong, the shared operation tells.
function isDamaged({ no: sessionNumber, leaf, chosen = 0 }: PathHead, rows: readonly PathRow[]): boolean {
  if (leaf === null ? chosen !== null && chosen !== 0 : sessionOf(leaf) !== sessionNumber) return true;
  return rows.some(({ key }) => key === "x");
}

interface PathHead {
  readonly no: number;
  readonly leaf: number | null;
  /** The leaf that was chosen; 0 for none. */
  readonly chosen?: number | null;
  readonly skills: string | null;
  /** Whose the session is; null for nobody's. */
  readonly user?: string | null;
}

const NAMED = { layout: "server" } as const;

const NOWHERE: PathHead = { no: 0, leaf: null, skills: null };

/** What the functions can look up: text that Postgres takes, and not the id of a summary. */
export function isMessageId(id: string): boolean {
  return id.isWellFormed() && !id.includes("\0") && !isSummaryMessage({ id });
}

/**
 * `assistant_path` gives a first row with the session's number, the leaf, the skill state and the user as JSON, then the visible path:
 * the contents of messages, whose key is `n` and their number where there is a skill state and null otherwise, and
 * summaries, whose key is `s` and the id of their compaction. Where the rows do not fit together a row has the key `x`, and what is
 * wrong the shared operation tells. It sees one state throughout.
 */
export const PATH = `CREATE OR REPLACE FUNCTION assistant_path(p_session TEXT, p_leaf TEXT)
RETURNS TABLE (key TEXT, content TEXT) LANGUAGE plpgsql STABLE SET jit = off AS $$
DECLARE
${VIEW_VARIABLES}
BEGIN
${FIND_VIEW}

  IF ${IS_LINE}
  THEN
    RETURN QUERY SELECT CASE WHEN numbered THEN 'n' || m.n END, m.content FROM assistant_messages m
      WHERE m.session_id = p_session AND m.n BETWEEN lowest AND leaf.n AND m.branch = 0 ORDER BY m.n;
  ELSE
    FOR piece IN
      ${SPANS}
      ORDER BY lo
    LOOP
      ${GIVE_SUMMARY}
      ELSE
        RETURN QUERY SELECT CASE WHEN numbered THEN 'n' || m.n END, m.content FROM assistant_messages m
          WHERE m.session_id = p_session AND m.n BETWEEN piece.lo AND piece.hi AND m.branch = piece.branch ORDER BY m.n;
      END IF;
    END LOOP;
  END IF;
END $$`;
