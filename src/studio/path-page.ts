import type { SessionMessage } from "../model/message.js";
import { noMessage } from "../model/tree-errors.js";
import type { SessionStore } from "../storage/contract.js";

/** Which messages are paged through. */
export interface PathView {
  /** The message that the path ends with; undefined for the active leaf. */
  readonly leafId: string | undefined;
  /** As the model sees it, or as stored. */
  readonly summaries: boolean;
  /** The message that it begins with, where that is not the root; only of a view without summaries. */
  readonly firstId?: string;
}

export interface PageRequest {
  /** Without one, the newest. */
  readonly from: string | undefined;
  readonly direction: "older" | "newer" | "around";
  readonly limit: number;
}

export interface PathPage {
  /** Oldest first. */
  readonly messages: SessionMessage[];
  readonly hasOlder: boolean;
  readonly hasNewer: boolean;
}

/** A page ends early where its messages have more characters of JSON than this. */
const MOST_CHARACTERS = 4_000_000;

/** Reads a page of a path, and no more than that. Errors: `MESSAGE_NOT_FOUND` for a leaf, or a message that the view does not show. */
export async function takePage(session: SessionStore, view: PathView, request: PageRequest): Promise<PathPage> {
  const { from, direction, limit } = request;
  if (from === undefined || direction === "older") {
    const { taken, more } = await take(backward(session, view, from), limit);
    return { messages: taken.reverse(), hasOlder: more, hasNewer: from !== undefined };
  }
  if (direction === "newer") {
    const { taken, more } = await take(forward(session, view, from), limit);
    return { messages: taken, hasOlder: true, hasNewer: more };
  }
  const older = await take(backward(session, view, from), Math.floor(limit / 2));
  // Behind the one before it stands the message itself.
  const newer = await take(forward(session, view, older.taken[0]?.id), limit - older.taken.length);
  return { messages: [...older.taken.reverse(), ...newer.taken], hasOlder: older.more, hasNewer: newer.more };
}

async function* backward(
  session: SessionStore,
  { firstId, ...path }: PathView,
  after: string | undefined,
): AsyncGenerator<SessionMessage> {
  if (after !== undefined && after === firstId) return;
  for await (const message of session.stream({
    ...path,
    onCorrupt: "skip",
    newestFirst: true,
    after,
    createdAt: true,
  })) {
    yield message;
    if (message.id === firstId) return;
  }
}

async function* forward(
  session: SessionStore,
  { firstId, ...path }: PathView,
  after: string | undefined,
): AsyncGenerator<SessionMessage> {
  if (firstId !== undefined && after === undefined) yield await messageOf(session, firstId);
  yield* session.stream({ ...path, onCorrupt: "skip", after: after ?? firstId, createdAt: true });
}

async function messageOf(session: SessionStore, id: string): Promise<SessionMessage> {
  const message = await session.message(id, { createdAt: true });
  if (message !== null) return message;
  throw noMessage(session.id, id);
}

async function take(
  messages: AsyncIterable<SessionMessage>,
  limit: number,
): Promise<{ taken: SessionMessage[]; more: boolean }> {
  const taken: SessionMessage[] = [];
  let characters = 0;
  for await (const message of messages) {
    if (taken.length >= limit || characters > MOST_CHARACTERS) return { taken, more: true };
    taken.push(message);
    characters += JSON.stringify(message).length;
  }
  return { taken, more: false };
}
