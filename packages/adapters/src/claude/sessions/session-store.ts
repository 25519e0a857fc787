// One interface of Claude's SDK, whole: how its sessions are read, appended to and listed as ours.
import {
  isJsonObject,
  type JsonObject,
  metadataOfFolder,
  Queue,
  readToolPart,
  type SessionMessage,
  StemmaError,
  searchableText,
  shorten,
} from "@stemma/model";
import { type KeptWrite, type SessionInfo, type Store, type StoredMessage, storeOf } from "@stemma/store";
import { looseResults } from "../../item-messages.js";
import {
  type ClaudeSessionEntry,
  type ClaudeSessionKey,
  type ClaudeSessionStore,
  type ClaudeSessionSummary,
  findEntry,
  findMessage,
  lastPart,
  type PlacedEntry,
  projectPrefix,
  sessionIdOf,
} from "./entries.js";
import {
  type ApartEntry,
  type MadeContent,
  madeContents,
  madeResults,
  madeUuid,
  resultsOf,
  type StoredTranscript,
  Transcript,
  type TranscriptHead,
} from "./transcript.js";

const PAGE = 500;

/**
 * The `SessionStore` of the Claude Agent SDK on a store: pass it as `sessionStore` to `query()` and to the SDK's functions. A
 * transcript is the session `claude/<projectKey>/<sessionId>[/<subpath>]`: what users and assistants say is its tree of
 * messages, everything else is kept beside them word for word. Appends take effect in the order in which they are made; each
 * is one transaction, whatever process it runs in. On a store of one user (`store.forUser(id)`) it holds that user's only.
 * Errors: `STORE_UNSUPPORTED`; of its methods `INVALID_ARGUMENT`, `DRIVER_MISSING` without the SDK, and those of the store.
 */
export function claudeSessionStore(host: object): ClaudeSessionStore {
  const store = storeOf(host);
  const order = new Queue();

  const sessionsBelow = async (idPrefix: string): Promise<SessionInfo[]> => {
    const found: SessionInfo[] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await store.sessions.list({ idPrefix, limit: PAGE, cursor });
      found.push(...page.sessions);
      if (page.nextCursor === null) return found;
      cursor = page.nextCursor;
    }
  };

  // The transcripts whose id is the prefix and one part more.
  const written = async (prefix: string): Promise<{ name: string; head: TranscriptHead }[]> => {
    const ids = (await sessionsBelow(prefix))
      .map(({ id }) => id)
      .filter((id) => !id.slice(prefix.length).includes("/"));
    const heads = await Promise.all(ids.map((id) => new Transcript(store, id).head()));
    return ids.flatMap((id, index) => {
      const head = heads[index] ?? null;
      return head === null ? [] : [{ name: lastPart(id), head }];
    });
  };

  return {
    async append(key, entries) {
      const id = sessionIdOf(key);
      await order.write(id, () => appendEntries(store, new Transcript(store, id), key, entries));
    },

    async load(key) {
      const id = sessionIdOf(key);
      return order.read(id, async () => {
        const transcript = new Transcript(store, id);
        const head = await transcript.head();
        const entries = entriesInOrder(key.sessionId, await transcript.read(head?.next ?? 0));
        return head === null && entries.length === 0 ? null : entries;
      });
    },

    async listSessions(projectKey) {
      const found = await written(projectPrefix(projectKey));
      return found.map(({ name: sessionId, head: { mtime } }) => ({ sessionId, mtime }));
    },

    async listSessionSummaries(projectKey) {
      const found = await written(projectPrefix(projectKey));
      return found.map(({ name: sessionId, head }) => ({ sessionId, mtime: head.mtime, data: head.summary ?? {} }));
    },

    async delete(key) {
      const id = sessionIdOf(key);
      await order.write(id, async () => {
        const isWhole = key.subpath === undefined;
        for (const below of isWhole ? await sessionsBelow(`${id}/`) : []) await store.sessions.delete(below.id);
        await store.sessions.delete(id);
      });
    },

    async listSubkeys({ projectKey, sessionId }) {
      const found = await written(`${sessionIdOf({ projectKey, sessionId })}/`);
      return found.map(({ name }) => name);
    },
  };
}

async function appendEntries(
  store: Store,
  transcript: Transcript,
  key: ClaudeSessionKey,
  given: readonly ClaudeSessionEntry[],
): Promise<void> {
  if (given.length === 0) return;
  for (;;) {
    const head = await transcript.head();
    const known = new Map(
      await Promise.all(uuidsOf(given).map(async (uuid) => [uuid, await transcript.find(uuid)] as const)),
    );
    const entries = newEntries(given, known, head?.next ?? 0);
    if (entries.length === 0) return;
    const { writes, messages } = writesOf(transcript, entries, (uuid) => known.get(uuid)?.parent ?? null);
    if (head === null) await register(store, key, entries, messages);
    try {
      const changed = await nextHead(head, key, entries);
      await store.writeTogether([transcript.writeHead(changed, head?.version ?? 0), ...writes]);
      return;
    } catch (error) {
      // Another process appended meanwhile.
      if (!StemmaError.isInstance(error, "RECORD_CONFLICT")) throw error;
    }
  }
}

// The entries that are looked for: those that are given, and those that they are attached to.
function uuidsOf(given: readonly ClaudeSessionEntry[]): string[] {
  const uuids = given.flatMap(({ uuid, parentUuid }) => [uuid, parentUuid]);
  return [...new Set(uuids)].filter((uuid) => typeof uuid === "string");
}

function newEntries(
  given: readonly ClaudeSessionEntry[],
  known: ReadonlyMap<string, unknown>,
  start: number,
): PlacedEntry[] {
  const seen = new Set<string>();
  const added = given.filter(({ uuid }) => {
    if (typeof uuid !== "string") return true;
    const isNew = (known.get(uuid) ?? null) === null && !seen.has(uuid);
    seen.add(uuid);
    return isNew;
  });
  return added.map((entry, index) => ({ n: start + index, entry }));
}

// A message is attached to the message that its parent is, or that the parent's own parents lead to.
function writesOf(
  transcript: Transcript,
  entries: readonly PlacedEntry[],
  storedParent: (uuid: string) => string | null,
): { writes: KeptWrite[]; messages: SessionMessage[] } {
  const parents = new Map<string, string | null>();
  const writes: KeptWrite[] = [];
  const messages: SessionMessage[] = [];
  for (const placed of entries) {
    const { uuid, parentUuid } = placed.entry;
    const above = typeof parentUuid === "string" ? parentUuid : "";
    const parent = parents.has(above) ? (parents.get(above) ?? null) : storedParent(above);
    const message = findMessage(placed);
    if (typeof uuid === "string") parents.set(uuid, message === null ? parent : message.id);
    if (message === null) {
      writes.push(transcript.writeEntry({ ...placed, parent }));
    } else {
      writes.push({ session: transcript.id, append: [message], parent });
      messages.push(message);
    }
  }
  return { writes, messages };
}

async function nextHead(
  head: TranscriptHead | null,
  key: ClaudeSessionKey,
  entries: readonly PlacedEntry[],
): Promise<TranscriptHead> {
  const next = (entries.at(-1)?.n ?? 0) + 1;
  const mtime = Math.max(Date.now(), head?.mtime ?? 0);
  const summary = key.subpath === undefined ? await foldedSummary(head, key, entries, mtime) : null;
  return { next, mtime, summary };
}

async function foldedSummary(
  head: TranscriptHead | null,
  { projectKey, sessionId }: ClaudeSessionKey,
  entries: readonly PlacedEntry[],
  mtime: number,
): Promise<TranscriptHead["summary"]> {
  const { foldSessionSummary } = await loadAgentSdk();
  const before = head?.summary ? { sessionId, mtime: head.mtime, data: head.summary } : undefined;
  const added = entries.map(({ entry }) => entry);
  return foldSessionSummary(before, { projectKey, sessionId }, added, { mtime }).data;
}

const MAX_NAME = 60;

// The session's row comes first, with a name: a transcript is there once its head is.
async function register(
  store: Store,
  key: ClaudeSessionKey,
  entries: readonly PlacedEntry[],
  messages: readonly SessionMessage[],
): Promise<void> {
  const { projectKey, sessionId, subpath } = key;
  const id = sessionIdOf(key);
  const asked = messages.find(({ role }) => role === "user");
  const text = asked === undefined ? "" : searchableText(asked).replace(/\s+/g, " ").trim().toWellFormed();
  const folder = entries.find(({ entry }) => typeof entry.cwd === "string")?.entry.cwd;
  await store.sessions.create({
    id,
    metadata: metadataOfFolder(folder) ?? undefined,
    name: subpath ?? (shorten(text.replaceAll("\0", ""), MAX_NAME) || lastPart(id)),
    source: "claude",
    parentSessionId: subpath === undefined ? undefined : sessionIdOf({ projectKey, sessionId }),
  });
}

interface AgentSdk {
  /** Brings what is kept of a session for lists up to date with the entries that were added. */
  foldSessionSummary(
    before: ClaudeSessionSummary | undefined,
    key: { projectKey: string; sessionId: string },
    added: ClaudeSessionEntry[],
    options: { mtime: number },
  ): ClaudeSessionSummary;
}

/** The Claude Agent SDK, which is loaded with the first append. Errors: `DRIVER_MISSING` where it is not installed. */
async function loadAgentSdk(): Promise<AgentSdk> {
  try {
    // @ts-expect-error: its types are there only where compat/ is installed.
    const sdk: AgentSdk = await import("@anthropic-ai/claude-agent-sdk");
    return sdk;
  } catch (cause) {
    const message = "To store sessions of Claude, run: npm install @anthropic-ai/claude-agent-sdk";
    throw new StemmaError("DRIVER_MISSING", {}, message, { cause });
  }
}

/**
 * The entries of a transcript in their order: Claude's as they were appended, and between them those that are made of what
 * other programs said, each below the entry of the message that it answers.
 */
function entriesInOrder(sessionId: string, { messages, apart, end }: StoredTranscript): ClaudeSessionEntry[] {
  const own = new Map(messages.map(({ message }) => [message.id, findEntry(message)]));
  const said = [...own.values()].filter((placed) => placed !== null && placed.n < end) as PlacedEntry[];
  const placed: PlacedEntry[] = [...said, ...apart.filter(({ n }) => n < end)];
  const others = messages.filter(({ message }) => own.get(message.id) === null).map(({ message }) => message);
  const made = new MadeTimeline(sessionId, looseResults(others), waitingCalls(messages));
  const places = placesOfOthers(messages, own, apart, end);
  for (const stored of messages) {
    const { id } = stored.message;
    const origin = own.get(id) ?? null;
    const entries = origin === null ? made.of(stored) : made.behind(stored, origin.n < end ? origin.entry : null);
    placed.push(...entries.map((entry) => ({ n: origin?.n ?? places.get(id) ?? end, entry })));
  }
  return placed.sort((a, b) => a.n - b.n).map(({ entry }) => entry);
}

class MadeTimeline {
  /** For each message the uuid of the entry that what follows it hangs below; undefined for one that is not there yet. */
  readonly #ends = new Map<string, string | null | undefined>();

  /** Made entries have the fields of the last one of Claude before them. */
  #shared: JsonObject;

  constructor(
    sessionId: string,
    private readonly loose: ReturnType<typeof looseResults>,
    private readonly waiting: ReadonlySet<string>,
  ) {
    this.#shared = sharedFields({ sessionId });
  }

  of({ message, parentId, createdAt: timestamp }: StoredMessage): ClaudeSessionEntry[] {
    const parentUuid = parentId === null ? null : this.#ends.get(parentId);
    this.#ends.set(message.id, parentUuid);
    if (parentUuid === undefined) return [];
    const contents = madeContents(message, this.loose, this.waiting);
    const entries = madeEntries(message, contents, this.#shared, { parentUuid, timestamp });
    this.#ends.set(message.id, entries.at(-1)?.uuid ?? parentUuid);
    return entries;
  }

  /** The entry behind one of Claude's, with the results that others gave to its calls. Null: that one is not there yet. */
  behind({ message, createdAt: timestamp }: StoredMessage, entry: ClaudeSessionEntry | null): ClaudeSessionEntry[] {
    this.#ends.set(message.id, entry === null ? undefined : message.id);
    if (entry === null) return [];
    this.#shared = sharedFields(entry);
    const blocks = madeResults(message);
    if (blocks.length === 0) return [];
    const results = { ...message, id: resultsOf(message.id) };
    const place = { parentUuid: message.id, timestamp };
    const entries = madeEntries(results, [{ type: "user", blocks }], this.#shared, place);
    this.#ends.set(message.id, entries[0]?.uuid);
    return entries;
  }
}

// Calls of Claude's own entries that none of its entries answers.
function waitingCalls(messages: readonly StoredMessage[]): Set<string> {
  const own = messages.filter(({ message }) => findEntry(message) !== null);
  const parts = own.flatMap(({ message }) => message.parts.map(readToolPart)).filter((part) => part !== null);
  const waiting = new Set(parts.flatMap(({ kind, toolCallId: id }) => (kind === "call" && id !== null ? [id] : [])));
  for (const { kind, toolCallId } of parts) if (kind === "result" && toolCallId !== null) waiting.delete(toolCallId);
  return waiting;
}

// Messages of others stand before the first entry of Claude that was written after them.
function placesOfOthers(
  messages: readonly StoredMessage[],
  own: ReadonlyMap<string, PlacedEntry | null>,
  apart: readonly ApartEntry[],
  end: number,
): Map<string, number> {
  const below = new Map<string, number>();
  for (const { parent, n } of apart) if (parent !== null) below.set(parent, Math.min(n, below.get(parent) ?? n));
  const places = new Map<string, number>();
  let next = end;
  for (const { message } of messages.toReversed()) {
    const origin = own.get(message.id) ?? null;
    next = Math.min(next, origin?.n ?? below.get(message.id) ?? next);
    if (origin === null) places.set(message.id, next - 0.5);
  }
  return places;
}

/** The fields that entries of one transcript share, and that a made one takes over from an entry of Claude. */
const SHARED = ["sessionId", "isSidechain", "agentId", "userType", "cwd", "version", "gitBranch"];

/** The fields that made entries share with another entry of the transcript. */
function sharedFields(entry: JsonObject): JsonObject {
  const shared = Object.entries(entry).filter(([field]) => SHARED.includes(field));
  return { isSidechain: false, userType: "external", ...Object.fromEntries(shared) };
}

/** Entries as Claude Code writes them, each below the one before, the first one below `parentUuid`. */
function madeEntries(
  { id, metadata }: SessionMessage,
  contents: readonly MadeContent[],
  shared: JsonObject,
  place: { readonly parentUuid: string | null; readonly timestamp: string },
): ClaudeSessionEntry[] {
  const model = isJsonObject(metadata) && typeof metadata.model === "string" ? metadata.model : "unknown";
  let { parentUuid } = place;
  return contents.map(({ type, blocks }, index) => {
    const uuid = madeUuid(id, contents.length - 1 - index);
    const entry: ClaudeSessionEntry = {
      ...shared,
      type,
      uuid,
      parentUuid,
      timestamp: place.timestamp,
      message: type === "user" ? { role: type, content: contentOf(blocks) } : answerOf(uuid, model, blocks),
    };
    parentUuid = uuid;
    return entry;
  });
}

function answerOf(uuid: string, model: string, content: JsonObject[]): JsonObject {
  const usage = { input_tokens: 0, output_tokens: 0 };
  const end = content.some(({ type }) => type === "tool_use") ? "tool_use" : "end_turn";
  return {
    ...{ id: `msg_${uuid}`, type: "message", role: "assistant", model, content },
    ...{ stop_reason: end, stop_sequence: null, usage },
  };
}

// A text by itself, as Claude Code writes what a user says.
function contentOf(blocks: JsonObject[]): string | JsonObject[] {
  const [only] = blocks;
  return blocks.length === 1 && only?.type === "text" ? String(only.text) : blocks;
}
