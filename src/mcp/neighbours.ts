import { shorten } from "../errors.js";
import type { SessionMessage } from "../model/message.js";
import { idOf, type Ref } from "./ids.js";
import { messageText } from "./message-text.js";
import type { McpScope } from "./scope.js";

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
