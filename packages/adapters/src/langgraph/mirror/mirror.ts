import type { BaseMessage } from "@langchain/core/messages";
import type { SessionMessage } from "@stemma/model";
import { cut, sameJson, sha256 } from "@stemma/model";
import type { KeptWrite, SessionStore } from "@stemma/store";
import { messageIdOf, sessionMessageOf } from "./message.js";

/** The messages of the checkpoint before, as they stand in the session. */
export interface MirroredMessages {
  /** The session's message that the last of them is; null for none. */
  readonly leaf: string | null;
  /** True when the new list begins with all of them, or with all but some at the front. */
  readonly isBeginning: boolean;
  /** With how many of them it begins then. */
  readonly count: number;
  load(): Promise<readonly BaseMessage[]>;
}

export interface MirrorPlan {
  readonly writes: readonly KeptWrite[];
  /** The session's message that the last message is; null for none. */
  readonly leaf: string | null;
}

export interface PlanOptions {
  /** ISO time that new messages get. */
  readonly createdAt: string;
  /** Look up whether the session has the messages. Without it the plan may fail with `MESSAGE_EXISTS`. */
  readonly looksUp: boolean;
}

/**
 * Plans the writes that make the session's active branch end with `messages`. What was added is appended. A message that was
 * changed, and what follows one that was taken away, begins a branch; what was taken away at the front stays in the history.
 * Errors: those of the session's reads. The plan fails with `MESSAGE_EXISTS`, `PARENT_NOT_FOUND` or `MESSAGE_NOT_FOUND` where
 * another program wrote to the session meanwhile.
 */
export async function planMirror(
  session: SessionStore,
  messages: readonly BaseMessage[],
  before: MirroredMessages | null,
  { createdAt, looksUp }: PlanOptions,
): Promise<MirrorPlan> {
  const { anchor, fresh } = await findAnchor(session, messages, before);
  // What goes on behind the messages before it is nearly always new.
  const isNew = !looksUp && (before === null || before.isBeginning);
  const { known, added } = await placeMessages(isNew ? null : session, fresh, anchor, createdAt);
  const parent = known ?? anchor;
  const leaf = added.at(-1)?.id ?? parent;
  if (added.length > 0) return { leaf, writes: [{ session: session.id, append: added, parent, onlyNew: true }] };
  const stays = before?.isBeginning === true && known === null;
  return { leaf, writes: stays ? [] : [{ session: session.id, activeLeaf: leaf }] };
}

// The message that the first new one follows, and the new ones.
async function findAnchor(session: SessionStore, messages: readonly BaseMessage[], before: MirroredMessages | null) {
  if (before?.isBeginning) return { anchor: before.leaf, fresh: messages.slice(before.count) };
  const [first] = messages;
  const known = before === null || first === undefined ? [] : await before.load();
  const start = known.findIndex((message) => first !== undefined && messageIdOf(message) === messageIdOf(first));
  if (before === null || start === -1) return { anchor: null, fresh: messages };
  const mirrored = known.slice(start);
  const differs = messages.findIndex((message, index) => !isSame(message, mirrored[index]));
  const same = differs === -1 ? messages.length : differs;
  return { anchor: await ancestor(session, before.leaf, mirrored.length - same), fresh: messages.slice(same) };
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
 * The messages below `anchor`: the last one that stands there already, and those that are to be added. One whose id stands
 * elsewhere, or with another content, gets an id of its place and content, so the same message at the same place is always
 * the same. Without a session every message counts as new.
 */
async function placeMessages(
  session: SessionStore | null,
  messages: readonly BaseMessage[],
  anchor: string | null,
  createdAt: string,
): Promise<{ known: string | null; added: SessionMessage[] }> {
  const added: SessionMessage[] = [];
  const taken = new Set<string>();
  let known: string | null = null;
  let parent = anchor;
  for (const message of messages) {
    const given = sessionMessageOf(message, createdAt);
    let { id } = given;
    let place = taken.has(id) ? "taken" : await placeOf(session, given, parent);
    for (let others = 0; place === "taken"; others += 1) {
      id = `${cut(given.id, 0, 900)}~${placeDigest(given, parent, others)}`;
      place = await placeOf(session, { ...given, id }, parent);
    }
    taken.add(id);
    if (place === "here" && added.length === 0) known = id;
    else added.push({ ...given, id });
    parent = id;
  }
  return { known, added };
}

// Whether nothing has the id, this message at this place, or anything else.
async function placeOf(
  session: SessionStore | null,
  message: SessionMessage,
  parent: string | null,
): Promise<"free" | "here" | "taken"> {
  const stored = (await session?.message(message.id)) ?? null;
  if (session === null || stored === null) return "free";
  if (!sameJson({ ...stored, createdAt: undefined }, { ...message, createdAt: undefined })) return "taken";
  return ((await session.parent(message.id))?.id ?? null) === parent ? "here" : "taken";
}

function isSame(a: BaseMessage, b: BaseMessage | undefined): boolean {
  if (b === undefined || a === b) return a === b;
  return sameJson(sessionMessageOf(a, ""), sessionMessageOf(b, ""));
}

// Another one where the ids of those before belong to messages that say something else, because they were edited.
function placeDigest({ createdAt: _, ...message }: SessionMessage, parent: string | null, others: number): string {
  const content = others === 0 ? [parent, message] : [parent, message, others];
  return sha256(JSON.stringify(content)).slice(0, 16);
}
