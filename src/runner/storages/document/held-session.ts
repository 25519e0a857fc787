import type { SessionMessage } from "../../../model/message.js";
import type { SessionStore } from "../../../storage/contract.js";
import { type HandOver, methodsOf, valuesIn } from "../../../storage/hand-over.js";
import type { HeldSessions } from "./held-sessions.js";

/** A session that is held in memory: it is loaded before it is read, and saved after each write. */
export function heldSession(held: HeldSessions, session: SessionStore): SessionStore {
  const { id } = session;
  const read: HandOver<SessionStore> = (given, use) => held.read(id, () => use(session, given));
  const write: HandOver<SessionStore> = (given, use) => held.write([id], () => use(session, given));
  const rewritten = (message: SessionMessage) => held.rewritten(id, message.id);
  // From the call on: its first page is read then, in the order of the calls.
  const streamed = <T>(open: () => AsyncIterable<T>): AsyncIterable<T> => {
    held.memory.retain(id);
    return valuesIn(
      held.read(id, async () => open()),
      () => held.memory.release(id),
    );
  };
  return {
    id,
    ...methodsOf(write, "append", "appendSibling", "importTree", "setActiveLeaf", "rewindTo", "selectBranch"),
    ...methodsOf(write, "addCompaction", "removeCompaction", "changeSkills"),
    update: (message) =>
      held.write([id], async () => {
        await session.update(message);
        rewritten(message);
      }),
    upsert: (message, parent, options) =>
      held.write([id], async () => {
        const result = await session.upsert(message, parent, options);
        rewritten(message);
        return result;
      }),
    delete: (ids) =>
      held.write([id], async () => {
        const removed = await session.delete(ids);
        held.removed(id, removed);
        return removed;
      }),
    clear: () =>
      held.write([id], async () => {
        const wasFrozen = await session.clear();
        held.removed(id, null);
        return wasFrozen;
      }),
    ...methodsOf(
      read,
      "message",
      "leaf",
      "branches",
      "branchIds",
      "parent",
      "siblings",
      "siblingIds",
      "path",
      "recent",
      "search",
    ),
    ...methodsOf(read, "rowStats", "length", "count", "tokens", "tree", "treePage"),
    ...methodsOf(read, "compactions", "originals", "skills", "change", "writes"),
    stream: (options) => streamed(() => session.stream(options)),
    messages: () => streamed(() => session.messages()),
  };
}
