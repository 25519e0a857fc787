import { join } from "node:path";
import { openDatabase } from "../database.mjs";
import { createCompactFunction, Session, SessionManager, sqlite } from "../stemma.mjs";

/** What the documents' main example configures: blocks, a cached prompt, compaction. Nothing here ever grows far enough to compact. */
export function withEverything(session) {
  return session
    .withContext("soul", { provider: { get: async () => "You are a helpful assistant." } })
    .withContext("memory", { description: "Learned facts", maxTokens: 1100 })
    .withCachedPrompt()
    .onCompaction(createCompactFunction({ summarize: async () => "A summary." }))
    .compactAfter(1e12);
}

export const stemma = {
  name: "stemma",
  file: (folder) => join(folder, "stemma.db"),
  open(folder) {
    const db = openDatabase(stemma.file(folder));
    const store = sqlite(db);
    const sessions = new Map();
    const session = (id) => {
      if (!sessions.has(id)) sessions.set(id, Session.create(store).forSession(id));
      return sessions.get(id);
    };
    return {
      db,
      store,
      session,
      manager: SessionManager.create(store),
      async fill(sessionId, messages) {
        for (let start = 0; start < messages.length; start += 1000) {
          await session(sessionId).appendAll(messages.slice(start, start + 1000));
        }
      },
      async appendEach(sessionId, messages) {
        const one = session(sessionId);
        for (const message of messages) await one.appendMessage(message);
      },
      appendAll: (sessionId, messages) => session(sessionId).appendAll(messages),
      history: (sessionId) => session(sessionId).getHistory(),
      last: async (sessionId, count) => (await session(sessionId).getRecentHistory(0, { minMessages: count })).messages,
      close: () => store.close(),
    };
  },
};
