import type { SessionMessage } from "@stemma/model";
import { metadataOfFolder, StemmaError, searchableText, shorten } from "@stemma/model";
import type { KeptWrite, Store } from "@stemma/store";
import { findMessage, type PlacedEntry } from "./entries.js";
import type { Transcript, TranscriptHead } from "./transcript.js";
import type { ClaudeSessionEntry, ClaudeSessionKey, ClaudeSessionSummary } from "./types.js";
import { lastPart, sessionIdOf } from "./types.js";
/** Appends the entries that are new, all of them or none. */
export async function appendEntries(
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

/** The part of the Claude Agent SDK that is used. */
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
