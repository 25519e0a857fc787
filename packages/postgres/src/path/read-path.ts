import {
  hideUnloaded,
  isSummaryMessage,
  jsonBytes,
  type SessionMessage,
  summaryMessage,
  takeRecent,
} from "@stemma/model";
import type { CorruptHandler, Operation, PathOptions, RecentHistory, RecentOptions, SqlValue } from "@stemma/store";
import { messageNotFound, owned, readContents, rowsOf, sessionOf, skillsOf, storedBytes } from "@stemma/store";
/** Reads a path by `assistant_path`. Null for what is left to the shared operation. */
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

/** Reads the newest messages of a path by `assistant_recent`. Null for what is left to the shared operation. */
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

// Null for what is left to the shared operation, which tells what row is damaged.
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

/** True for an id that the functions can look up: text that Postgres takes, and not the id of a summary. */
export function isMessageId(id: string): boolean {
  return id.isWellFormed() && !id.includes("\0") && !isSummaryMessage({ id });
}
