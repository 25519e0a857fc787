import type { BaseMessage } from "@langchain/core/messages";
import type { SessionMessage } from "../../model/message.js";
import { sameJson } from "../../model/same-json.js";
import { sha256 } from "../../model/sha256.js";
import type { KeptWrite, SessionStore } from "../../storage/contract.js";
import { messageIdOf, sessionMessageOf } from "./message.js";

/** The messages of the checkpoint before, as they stand in the session. */
export interface MirroredMessages {
  /** The session's message that the last of them is; null for none. */
  readonly leaf: string | null;
  /** True when the new list begins with all of them, or with all but some at the front. */
  readonly isBeginning: boolean;
  /** With how many of them it begins then. */
  readonly count: number;
  /** Reads them. */
  load(): Promise<readonly BaseMessage[]>;
}

export interface MirrorPlan {
  readonly writes: readonly KeptWrite[];
  /** The session's message that the last message is; null for none. */
  readonly leaf: string | null;
}

/**
 * What makes the session's active branch end with `messages`. What was added is appended. A message that was changed, and
 * what follows one that was taken away, begins a branch; what was taken away at the front stays in the history.
 */
export async function planMirror(
  session: SessionStore,
  messages: readonly BaseMessage[],
  before: MirroredMessages | null,
  createdAt: string,
): Promise<MirrorPlan> {
  const { anchor, fresh } = await findAnchor(session, messages, before);
  const placed = await placeMessages(session, fresh, anchor, createdAt);
  const leaf = placed.at(-1)?.id ?? anchor;
  const append: KeptWrite[] = placed.length === 0 ? [] : [{ session: session.id, append: placed, parent: anchor }];
  const isAppended = before === null ? placed.length > 0 : before.isBeginning;
  return { leaf, writes: isAppended ? append : [...append, { session: session.id, activeLeaf: leaf }] };
}

// The message that the first new one follows, and the new ones.
async function findAnchor(session: SessionStore, messages: readonly BaseMessage[], before: MirroredMessages | null) {
  if (before?.isBeginning) return { anchor: before.leaf, fresh: messages.slice(before.count) };
  const [first] = messages;
  const known = before === null || first === undefined ? [] : await before.load();
  const start = known.findIndex((message) => first !== undefined && messageIdOf(message) === messageIdOf(first));
  if (before === null || start === -1) return { anchor: null, fresh: messages };
  const kept = known.slice(start);
  const differs = messages.findIndex((message, index) => !isSame(message, kept[index]));
  const same = differs === -1 ? messages.length : differs;
  return { anchor: await ancestor(session, before.leaf, kept.length - same), fresh: messages.slice(same) };
}

async function ancestor(session: SessionStore, leaf: string | null, steps: number): Promise<string | null> {
  if (leaf === null || steps === 0) return leaf;
  let left = steps;
  for await (const { id } of session.stream({ leafId: leaf, newestFirst: true, summaries: false })) {
    if (left === 0) return id;
    left -= 1;
  }
  return null;
}

/**
 * The messages with the ids under which they stand below `anchor`. One whose id stands elsewhere, or with another content,
 * gets an id of its place and content, so the same message at the same place is always the same.
 */
async function placeMessages(
  session: SessionStore,
  messages: readonly BaseMessage[],
  anchor: string | null,
  createdAt: string,
): Promise<SessionMessage[]> {
  const placed: SessionMessage[] = [];
  const taken = new Set<string>();
  let parent = anchor;
  for (const message of messages) {
    const given = sessionMessageOf(message, createdAt);
    const isFree = !taken.has(given.id) && (await fits(session, given, parent));
    const id = isFree ? given.id : `${given.id.slice(0, 900)}~${placeDigest(given, parent)}`;
    taken.add(id);
    placed.push({ ...given, id });
    parent = id;
  }
  return placed;
}

// True where nothing has the id, or this message at this place.
async function fits(session: SessionStore, message: SessionMessage, parent: string | null): Promise<boolean> {
  const stored = await session.message(message.id);
  if (stored === null) return true;
  if (!sameJson({ ...stored, createdAt: undefined }, { ...message, createdAt: undefined })) return false;
  return ((await session.parent(message.id))?.id ?? null) === parent;
}

function isSame(a: BaseMessage, b: BaseMessage | undefined): boolean {
  if (b === undefined || a === b) return a === b;
  return sameJson(sessionMessageOf(a, ""), sessionMessageOf(b, ""));
}

function placeDigest({ createdAt: _, ...message }: SessionMessage, parent: string | null): string {
  return sha256(JSON.stringify([parent, message])).slice(0, 16);
}
