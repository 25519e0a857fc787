import type { SessionMessage, SessionProvider } from "../../packages/stemma/src/session.js";

interface Stored {
  message: SessionMessage;
  parentId: string | null;
}

type Compaction = Awaited<ReturnType<SessionProvider["getCompactions"]>>[number];

/** A provider as a user writes one: the documented methods on a list, and nothing else. */
export function createProvider() {
  const rows: Stored[] = [];
  const compactions: Compaction[] = [];
  const find = (id: string | null | undefined) => rows.find(({ message }) => message.id === id);
  const path = (leafId = rows.at(-1)?.message.id) => {
    const found: SessionMessage[] = [];
    for (let row = find(leafId); row; row = find(row.parentId)) found.unshift(row.message);
    return found;
  };
  return {
    getMessage: (id: string) => find(id)?.message ?? null,
    getHistory: (leafId?: string) => path(leafId),
    getLatestLeaf: () => rows.at(-1)?.message ?? null,
    getBranches: (messageId: string) => rows.filter((row) => row.parentId === messageId).map((row) => row.message),
    getPathLength: (leafId?: string) => path(leafId).length,
    appendMessage(message: SessionMessage, parentId?: string | null) {
      rows.push({ message, parentId: parentId === undefined ? (rows.at(-1)?.message.id ?? null) : parentId });
    },
    updateMessage(message: SessionMessage) {
      const row = find(message.id);
      if (row) row.message = message;
    },
    deleteMessages(ids: string[]) {
      for (const id of ids) {
        const row = find(id) as Stored;
        for (const child of rows) if (child.parentId === id) child.parentId = row.parentId;
        rows.splice(rows.indexOf(row), 1);
      }
    },
    clearMessages() {
      rows.length = 0;
      compactions.length = 0;
    },
    addCompaction(summary: string, fromMessageId: string, toMessageId: string) {
      const createdAt = new Date().toISOString();
      const compaction = { id: `compaction-${compactions.length}`, summary, fromMessageId, toMessageId, createdAt };
      compactions.push(compaction);
      return compaction;
    },
    getCompactions: () => [...compactions],
    searchMessages: (query: string, limit = 20) =>
      rows
        .filter(({ message }) => JSON.stringify(message).includes(query))
        .slice(0, limit)
        .map(({ message }) => ({ id: message.id, role: message.role, content: JSON.stringify(message.parts) })),
  } satisfies SessionProvider;
}

/** The same methods, each answering after as many milliseconds as `delay` says, or in the next turn of the event loop. */
export function delayed(provider: ReturnType<typeof createProvider>, delay: () => number): SessionProvider {
  const slow = Object.entries(provider).map(([name, method]) => [
    name,
    async (...values: unknown[]) => {
      const milliseconds = delay();
      await new Promise((done) => (milliseconds > 0 ? setTimeout(done, milliseconds) : setImmediate(done)));
      return (method as (...values: unknown[]) => unknown)(...values);
    },
  ]);
  return Object.fromEntries(slow) as SessionProvider;
}
