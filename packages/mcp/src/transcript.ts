import type { SessionMessage } from "@stemma/model";
import { shorten } from "@stemma/model";
import { type Document, jsonTokens, messageText, placeOf, sessionTitle, transcriptOf } from "./documents.js";
import { idOf, type Ref } from "./fields.js";
import { findSession, type McpScope } from "./scope.js";
/** A part of a conversation's visible history. `next` is the message that the part behind it begins after; null for none. */
export interface TranscriptPage extends Document {
  readonly next: string | null;
}

/**
 * The visible history of a session as text, oldest first: the messages behind `after` that fit into `tokens`, and at least
 * one. Errors: `SESSION_NOT_FOUND`, `MESSAGE_NOT_FOUND` for `after`.
 */
export async function readTranscript(
  scope: McpScope,
  ref: Ref & { kind: "session" },
  after: string | null,
  tokens: number,
): Promise<TranscriptPage> {
  const document = await describeSession(scope, ref);
  const messages = scope.store.session(ref.session).stream({ after: after ?? undefined, createdAt: true });
  const { texts, last, isCut } = await take(messages, tokens);
  return { ...document, text: texts.join("\n\n"), next: isCut ? last : null };
}

/** The newest messages of the visible history that fit into `tokens`, oldest first. Errors: `SESSION_NOT_FOUND`. */
export async function readEnd(scope: McpScope, ref: Ref & { kind: "session" }, tokens: number): Promise<Document> {
  const document = await describeSession(scope, ref);
  const { texts, isCut } = await take(
    scope.store.session(ref.session).stream({ newestFirst: true, createdAt: true }),
    tokens,
  );
  const note = isCut ? [`(Earlier messages are left out; fetch "${document.id}" has them.)`] : [];
  return { ...document, text: [...note, ...texts.toReversed()].join("\n\n") };
}

async function take(messages: AsyncIterable<SessionMessage>, tokens: number) {
  const texts: string[] = [];
  let last: string | null = null;
  let room = tokens;
  for await (const message of messages) {
    const text = transcriptOf(message, tokens);
    room -= jsonTokens(text);
    if (room < 0 && texts.length > 0) return { texts, last, isCut: true };
    texts.push(text);
    last = message.id;
  }
  return { texts, last, isCut: false };
}

async function describeSession(scope: McpScope, ref: Ref & { kind: "session" }): Promise<Omit<Document, "text">> {
  const info = await findSession(scope, ref.session);
  return {
    ...placeOf(ref),
    title: sessionTitle(info),
    metadata: { kind: "session", writtenBy: "everybody in it", time: info.updated_at },
  };
}

const ROLE_LENGTH = 40;

interface Neighbour {
  readonly id: string;
  readonly role: string;
  readonly text: string;
}

/** The messages beside a message of a session in scope: those that lead to it, and the newest of each that follow, oldest first. */
export async function neighboursOf(
  { store }: McpScope,
  ref: Ref & { kind: "message" },
  count: number,
): Promise<{ before: Neighbour[]; after: Neighbour[] }> {
  const session = store.session(ref.session);
  const before: SessionMessage[] = [];
  for (let message = await session.parent(ref.message); message !== null && before.length < count; ) {
    before.unshift(message);
    message = before.length < count ? await session.parent(message.id) : null;
  }
  const after: SessionMessage[] = [];
  for (let id = ref.message; after.length < count; ) {
    const newest = (await session.branchIds(id)).at(-1);
    const next = newest === undefined ? null : await session.message(newest);
    if (next === null) break;
    after.push(next);
    id = next.id;
  }
  const describe = (message: SessionMessage): Neighbour => ({
    id: idOf({ kind: "message", session: ref.session, message: message.id }),
    role: shorten(message.role, ROLE_LENGTH),
    text: messageText(message),
  });
  return { before: before.map(describe), after: after.map(describe) };
}
