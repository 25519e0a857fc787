import { join } from "node:path";
import { openDatabase } from "../database.mjs";
import { createCompactFunction, Session, SessionManager, sqlite } from "../stemma.mjs";

/** A session with nothing configured; full-text search is on. */
export const stemma = candidate("stemma", (session) => session);

/** What the documents' main example configures: blocks, a cached prompt, compaction. Nothing here ever grows far enough to compact. */
export const configure = (session) =>
  session
    .withContext("soul", { provider: { get: async () => "You are a helpful assistant." } })
    .withContext("memory", { description: "Learned facts", maxTokens: 1100 })
    .withCachedPrompt()
    .onCompaction(createCompactFunction({ summarize: async () => "A summary." }))
    .compactAfter(1e12);

/** The same, configured. */
export const stemmaConfigured = candidate("stemma, configured", configure);

/** Without full-text search. */
export const stemmaUnindexed = candidate("stemma, search off", (session) => session, { search: false });

function candidate(name, configure, options = {}) {
  const self = {
    name,
    open: (folder) => self.reopen(join(folder, "stemma.db")),
    reopen(path) {
      const db = openDatabase(path);
      const store = sqlite(db, options);
      const sessions = new Map();
      const session = (id) => {
        if (!sessions.has(id)) sessions.set(id, configure(Session.create(store).forSession(id)));
        return sessions.get(id);
      };
      return {
        path,
        db,
        store,
        session,
        manager: SessionManager.create(store),
        async fill(sessionId, messages) {
          for (let start = 0; start < messages.length; start += 1000) {
            await session(sessionId).appendAll(messages.slice(start, start + 1000));
          }
          await session(sessionId).freezeSystemPrompt();
        },
        async appendEach(sessionId, messages) {
          const one = session(sessionId);
          for (const message of messages) await one.appendMessage(message);
        },
        appendAll: (sessionId, messages) => session(sessionId).appendAll(messages),
        history: (sessionId) => session(sessionId).getHistory(),
        last: async (sessionId, count) =>
          (await session(sessionId).getRecentHistory(0, { minMessages: count })).messages,
        close: () => store.close(),
      };
    },
  };
  return self;
}
