import { invalid, StemmaError, searchableText, withoutToolTimes } from "@stemma/model";
import type { Recollection, RunState, RunStatus, Session, SessionManager } from "@stemma/session";
import type { Author, SessionInfo, StoredCompaction, StoredVersion } from "@stemma/store";
import type { UIMessage } from "ai";
import { SessionRuns } from "../run/runs.js";

/** A chat of a user. Times are ISO text. */
export interface ChatInfo {
  readonly id: string;
  readonly name: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly usage: { readonly inputTokens: number; readonly outputTokens: number; readonly cost: number };
}

/** The answer to `GET /`: the chat that changed last comes first. */
export interface ChatList {
  readonly chats: ChatInfo[];
  /** Pass it as `cursor` to get the next page; null after the last. */
  readonly nextCursor: string | null;
}

/** The latest run of a chat. */
export interface ChatRun {
  readonly runId: string;
  readonly status: RunStatus;
  /** The message that holds the answer. */
  readonly messageId: string;
}

/** The answer to `GET /:id`. */
export interface ChatPage<M extends UIMessage = UIMessage> {
  readonly chat: ChatInfo;
  /**
   * The newest messages of the active branch, or those before `before`; oldest first, as they were stored. Each has its
   * `createdAt`, when it was stored if it has none of its own. Times of tool calls are left out.
   */
  readonly messages: M[];
  /** For each of these messages that has siblings: the ids of all, itself included, in the order in which they were written. */
  readonly siblings: Readonly<Record<string, string[]>>;
  /** The summaries that stand for older messages in what the model sees. */
  readonly compactions: StoredCompaction[];
  readonly run: ChatRun | null;
  /** Pass it as `before` to get the messages before these; null when there are none. */
  readonly previous: string | null;
}

const MAX_PAGE = 200;

export async function listChats(manager: SessionManager, url: URL): Promise<ChatList> {
  const { searchParams } = url;
  const cursor = searchParams.get("cursor") ?? undefined;
  const { sessions, nextCursor } = await manager.listPage({ limit: limitOf(searchParams), cursor });
  return { chats: sessions.map(infoOf), nextCursor };
}

/** Errors: `SESSION_NOT_FOUND`, `MESSAGE_NOT_FOUND`, `INVALID_ARGUMENT`. */
export async function readChat(manager: SessionManager, id: string, url: URL): Promise<ChatPage> {
  const info = await manager.get(id);
  if (info === null) throw new StemmaError("SESSION_NOT_FOUND", { sessionId: id }, "There is no such chat.");
  const session = manager.getSession(id);
  // First, because the answer of a run that died is stored now.
  const run = await new SessionRuns(session).latest();
  const before = url.searchParams.get("before");
  const [{ messages, previous }, compactions] = await Promise.all([
    pageOf(session, before, limitOf(url.searchParams)),
    session.getCompactions(),
  ]);
  const siblings = await siblingsOf(session, messages);
  return { chat: infoOf(info), messages, siblings, compactions, run: runOf(run), previous };
}

async function pageOf(session: Session, before: string | null, limit: number) {
  const end = before === null ? null : await session.getParent(before);
  if (before !== null && end === null) return { messages: [], previous: null };
  const messages: UIMessage[] = [];
  const options = {
    leafId: end?.id ?? null,
    newestFirst: true,
    summaries: false,
    onCorrupt: "skip",
    createdAt: true,
  } as const;
  for await (const message of session.history<UIMessage>(options)) {
    if (messages.length === limit) return { messages: messages.reverse(), previous: messages[0]?.id ?? null };
    messages.push(withoutToolTimes(message));
  }
  return { messages: messages.reverse(), previous: null };
}

async function siblingsOf(session: Session, messages: readonly UIMessage[]): Promise<Record<string, string[]>> {
  const siblings = await session.getSiblingIds(messages.map(({ id }) => id));
  return Object.fromEntries(Object.entries(siblings).filter(([, ids]) => ids.length > 1));
}

function runOf(state: RunState | null): ChatRun | null {
  if (state === null) return null;
  const { runId, status, answerId } = state;
  return { runId, status, messageId: answerId };
}

export function infoOf(info: SessionInfo): ChatInfo {
  return {
    id: info.id,
    name: info.name,
    createdAt: info.created_at,
    updatedAt: info.updated_at,
    metadata: info.metadata,
    usage: { inputTokens: info.input_tokens, outputTokens: info.output_tokens, cost: info.estimated_cost },
  };
}

/** The names of those of these chats that are the user's, by their ids. */
async function namesOf(manager: SessionManager, ids: readonly string[]): Promise<Map<string, string>> {
  const infos = await Promise.all([...new Set(ids)].map((id) => manager.get(id)));
  return new Map(infos.flatMap((info) => (info === null ? [] : [[info.id, info.name]])));
}

/** The `limit` of a request. Errors: `INVALID_ARGUMENT`. */
export function limitOf(query: URLSearchParams): number {
  const given = query.get("limit");
  const limit = given === null ? 50 : Number(given);
  if (Number.isInteger(limit) && limit > 0) return Math.min(limit, MAX_PAGE);
  throw invalid("limit must be a whole number above 0.", { limit: given });
}

/** A message that a search of a user's chats found. */
export interface ChatMatch {
  readonly chatId: string;
  readonly chatName: string;
  readonly messageId: string;
  readonly role: string;
  /** At most 240 characters of the message around what matched, which stands between « and ». */
  readonly snippet: string;
  /** ISO time. */
  readonly createdAt: string;
}

/** The answer to `GET /?q=`: the best match first. */
export interface ChatMatches {
  readonly matches: ChatMatch[];
  /** Pass it as `cursor` to get the next page; null after the last. */
  readonly nextCursor: string | null;
}

/** Errors: `SEARCH_UNAVAILABLE`, `INVALID_ARGUMENT`. */
export async function searchChats(
  manager: SessionManager,
  query: string,
  url: URL,
  signal: AbortSignal,
): Promise<ChatMatches> {
  const cursor = url.searchParams.get("cursor") ?? undefined;
  const { results, nextCursor } = await manager.searchPage(query, { limit: limitOf(url.searchParams), cursor, signal });
  const names = await namesOf(
    manager,
    results.map(({ sessionId }) => sessionId),
  );
  const matches = results.map(({ sessionId, id, role, snippet, createdAt }) => {
    return { chatId: sessionId, chatName: names.get(sessionId) ?? "", messageId: id, role, snippet, createdAt };
  });
  return { matches, nextCursor };
}

/** Recalls what the user's memory holds about a text: the answer to `GET /?recall=…`. Errors: `SEARCH_UNAVAILABLE`, `INVALID_ARGUMENT`. */
export async function recallChats(manager: SessionManager, query: string, url: URL): Promise<Recollection> {
  const maxTokens = url.searchParams.get("maxTokens");
  return manager.recall(query, maxTokens === null ? {} : { maxTokens: Number(maxTokens) });
}

/** The answer to `GET /:id/memory`. */
export interface ChatMemory {
  /** The blocks that the model may write, in their order. Others, as instructions of yours, are not told. */
  readonly blocks: ChatBlock[];
}

/** A block of what is remembered. */
export interface ChatBlock {
  readonly label: string;
  readonly description: string | null;
  /** As it is stored now; of a block that holds entries what the prompt shows of them. */
  readonly content: string;
  /** The newest first, the present one among them. Empty for a block that holds entries, or whose provider keeps no versions. */
  readonly versions: ChatBlockVersion[];
}

/** A block as it was after one write. */
export interface ChatBlockVersion {
  readonly version: number;
  readonly content: string;
  /** ISO time. */
  readonly writtenAt: string;
  /** Null where it is not known, as of what `agents` wrote. */
  readonly author: Author | null;
  /** The user's message that it comes from; null where there is none, or it is gone, or another user's. */
  readonly message: {
    readonly chatId: string;
    readonly chatName: string;
    readonly messageId: string;
    readonly text: string;
  } | null;
}

/** Reads the memory of a chat; for one that is not there yet, or is another user's, what a new one will begin with. */
export async function readMemory(manager: SessionManager, id: string): Promise<ChatMemory> {
  const isRegistered = (await manager.get(id)) !== null;
  const session = manager.getSession(isRegistered ? id : crypto.randomUUID());
  await session.tools();
  const labels = session.getContextBlocks().flatMap(({ label, writable, isSkill }) => {
    return writable && !isSkill ? [label] : [];
  });
  const blocks: ChatBlock[] = [];
  for (const label of labels) {
    const [block, versions] = await Promise.all([session.readContextBlock(label), versionsOf(session, label)]);
    if (block === null) continue;
    const { description = null, content } = block;
    blocks.push({ label, description, content, versions: await withMessages(manager, versions) });
  }
  return { blocks };
}

async function versionsOf(session: Session, label: string): Promise<StoredVersion[]> {
  try {
    return await session.getBlockHistory(label);
  } catch (error) {
    if (StemmaError.isInstance(error, "INVALID_ARGUMENT")) return [];
    throw error;
  }
}

/** Versions with the user's messages that they come from. A block of a key is written in chats of others too: theirs are left out. */
export async function withMessages(
  manager: SessionManager,
  versions: readonly StoredVersion[],
): Promise<ChatBlockVersion[]> {
  const names = await namesOf(
    manager,
    versions.flatMap(({ sessionId }) => sessionId ?? []),
  );
  const texts = new Map<string, Promise<string | null>>();
  const textOf = (chatId: string, messageId: string) => {
    const key = JSON.stringify([chatId, messageId]);
    const known = texts.get(key) ?? textOfMessage(manager.getSession(chatId), messageId);
    texts.set(key, known);
    return known;
  };
  return Promise.all(
    versions.map(async ({ version, content, writtenAt, author, sessionId: chatId, messageIds }) => {
      const messageId = messageIds.at(-1);
      const chatName = chatId === null ? undefined : names.get(chatId);
      const isTold = chatId !== null && chatName !== undefined && messageId !== undefined;
      const text = isTold ? await textOf(chatId, messageId) : null;
      const message = isTold && text !== null ? { chatId, chatName, messageId, text } : null;
      return { version, content: content ?? "", writtenAt, author, message };
    }),
  );
}

async function textOfMessage(session: Session, messageId: string): Promise<string | null> {
  try {
    const message = await session.getMessage(messageId);
    return message && searchableText(message);
  } catch (error) {
    if (StemmaError.isInstance(error, "CORRUPT_MESSAGE")) return null;
    throw error;
  }
}
