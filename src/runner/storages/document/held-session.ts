import type { SessionMessage } from "../../../model/message.js";
import type { SessionStore } from "../../../storage/contract.js";
import type { HeldSessions } from "./held-sessions.js";

/** A session that is held in memory: it is loaded before it is read, and saved after each write. */
export function heldSession(held: HeldSessions, session: SessionStore): SessionStore {
  const { id } = session;
  const read = <T>(work: () => Promise<T>): Promise<T> => held.read(id, work);
  const write = <T>(work: () => Promise<T>): Promise<T> => held.write([id], work);
  const rewritten = (message: SessionMessage) => held.rewritten(id, message.id);
  // From the call on: its first page is read then, in the order of the calls.
  const streamed = <T>(open: () => AsyncIterable<T>): AsyncIterable<T> => {
    held.retain(id);
    const opened = read(async () => ({ items: open() }));
    // A failure is reported to the reader of the pages. There may be none.
    opened.catch(() => {});
    return streamOf(opened, () => held.release(id));
  };
  return {
    id,
    append: (messages, parent, options) => write(() => session.append(messages, parent, options)),
    appendSibling: (siblingId, message) => write(() => session.appendSibling(siblingId, message)),
    update: (message) =>
      write(async () => {
        await session.update(message);
        rewritten(message);
      }),
    upsert: (message, parent, options) =>
      write(async () => {
        const result = await session.upsert(message, parent, options);
        rewritten(message);
        return result;
      }),
    delete: (ids) =>
      write(async () => {
        const removed = await session.delete(ids);
        held.removed(id, removed);
        return removed;
      }),
    clear: () =>
      write(async () => {
        const wasFrozen = await session.clear();
        held.removed(id, null);
        return wasFrozen;
      }),
    importTree: (tree) => write(() => session.importTree(tree)),
    setActiveLeaf: (messageId) => write(() => session.setActiveLeaf(messageId)),
    rewindTo: (messageId) => write(() => session.rewindTo(messageId)),
    selectBranch: (messageId) => write(() => session.selectBranch(messageId)),

    message: (messageId) => read(() => session.message(messageId)),
    leaf: () => read(() => session.leaf()),
    branches: (messageId) => read(() => session.branches(messageId)),
    parent: (messageId) => read(() => session.parent(messageId)),
    siblings: (messageId) => read(() => session.siblings(messageId)),
    path: (options) => read(() => session.path(options)),
    stream: (options) => streamed(() => session.stream(options)),
    recent: (maxBytes, options) => read(() => session.recent(maxBytes, options)),
    rowStats: (leafId) => read(() => session.rowStats(leafId)),
    length: (leafId) => read(() => session.length(leafId)),
    count: () => read(() => session.count()),
    tokens: (leafId) => read(() => session.tokens(leafId)),
    tree: () => read(() => session.tree()),
    treePage: (options) => read(() => session.treePage(options)),
    messages: () => streamed(() => session.messages()),
    search: (query, request) => read(() => session.search(query, request)),

    compactions: () => read(() => session.compactions()),
    addCompaction: (compaction, guard) => write(() => session.addCompaction(compaction, guard)),
    removeCompaction: (compactionId) => write(() => session.removeCompaction(compactionId)),
    originals: (compactionId) => read(() => session.originals(compactionId)),
    skills: () => read(() => session.skills()),
    changeSkills: (change) => write(() => session.changeSkills(change)),

    change: () => read(() => session.change()),
    writes: (messageId) => read(() => session.writes(messageId)),
  };
}

async function* streamOf<T>(
  opened: Promise<{ items: AsyncIterable<T> }>,
  onEnd: () => Promise<void>,
): AsyncIterable<T> {
  try {
    yield* (await opened).items;
  } finally {
    await onEnd();
  }
}
