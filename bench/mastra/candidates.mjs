import { join } from "node:path";
import { LibSQLStore } from "@mastra/libsql";
import { PostgresStore } from "@mastra/pg";
import { postgres, SessionManager, sqlite } from "../stemma.mjs";

/** On files, each as it opens by default. Mastra's waits for the disk as stemma does with `normal`. */
export const onFile = (folder) => ({
  stemma: () => openStemma(sqlite(join(folder, "stemma.db"))),
  "stemma, normal": () => openStemma(sqlite(join(folder, "normal.db"), { synchronous: "normal" })),
  mastra: () => openMastra(new LibSQLStore({ id: "mastra", url: `file:${join(folder, "mastra.db")}` })),
});

/** On the same Postgres server, each in a schema of its own. */
export const onPostgres = (url) => ({
  stemma: () => openStemma(postgres(url, { schema: "stemma" })),
  mastra: () => openMastra(new PostgresStore({ id: "mastra", connectionString: url, schemaName: "mastra" })),
});

function openStemma(store) {
  const manager = SessionManager.create(store);
  return {
    append: (sessionId, message) => manager.append(sessionId, message),
    appendAll: (sessionId, messages) => manager.appendAll(sessionId, messages),
    history: (sessionId) => manager.getHistory(sessionId),
    last: async (sessionId, count) =>
      (await manager.getSession(sessionId).getRecentHistory(0, { minMessages: count })).messages,
    fork: (sessionId, leaf) => manager.fork(sessionId, leaf, "fork"),
    close: () => store.close(),
  };
}

// A message has the time that orders it, and its parts in the form that Mastra writes.
async function openMastra(storage) {
  await storage.init();
  const memory = await storage.getStore("memory");
  const resourceId = "user";
  const threads = new Set();
  let time = Date.UTC(2026, 0, 1);
  const save = async (threadId, messages) => {
    if (!threads.has(threadId)) {
      if ((await memory.getThreadById({ threadId })) === null) {
        const now = new Date();
        await memory.saveThread({
          thread: { id: threadId, title: threadId, resourceId, createdAt: now, updatedAt: now },
        });
      }
      threads.add(threadId);
    }
    const stored = messages.map(({ id, role, parts }) => {
      time += 1;
      return { id, role, threadId, resourceId, createdAt: new Date(time), content: { format: 2, parts } };
    });
    await memory.saveMessages({ messages: stored });
  };
  const read = async (threadId, perPage, direction) => {
    const orderBy = { field: "createdAt", direction };
    const { messages } = await memory.listMessages({ threadId, perPage, page: 0, orderBy, includeTotal: false });
    return messages.map(({ id, role, content }) => ({ id, role, parts: content.parts }));
  };
  return {
    append: (sessionId, message) => save(sessionId, [message]),
    appendAll: save,
    history: (sessionId) => read(sessionId, false, "ASC"),
    last: async (sessionId, count) => (await read(sessionId, count, "DESC")).reverse(),
    fork: (sourceThreadId) => memory.copyThread({ sourceThreadId }),
    close: () => storage.close(),
  };
}
