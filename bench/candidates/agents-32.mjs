import { join } from "node:path";
import { openDatabase } from "../database.mjs";
import { onStorage } from "./agents-32-storage.mjs";

/** agents@0.32.0: its Sessions, which keep no search index until the first search; and the same after one. */
export const agents32 = candidate("agents@0.32", { indexed: false });
export const agents32Indexed = candidate("agents@0.32 with its index", { indexed: true });

function candidate(name, { indexed }) {
  const self = {
    name,
    open: (folder) => self.reopen(join(folder, "agents.db")),
    async reopen(path) {
      const db = openDatabase(path);
      const sessions = onStorage(storageOf(db));
      await sessions.onStart();
      return {
        path,
        db,
        async fill(sessionId, messages) {
          await appendEach(sessions.session(sessionId), messages);
          if (indexed) await sessions.session(sessionId).search("anything");
        },
        appendEach: (sessionId, messages) => appendEach(sessions.session(sessionId), messages),
        history: (sessionId) => sessions.session(sessionId).getHistory(),
        async last(sessionId, count) {
          const newest = [];
          for await (const message of sessions.session(sessionId).history({ newestFirst: true })) {
            if (newest.push(message) === count) break;
          }
          return newest.reverse();
        },
        close: () => db.close(),
      };
    },
  };
  return self;
}

async function appendEach(session, messages) {
  for (const message of messages) await session.appendMessage(message);
}

/** As much of a Durable Object's storage as they use, on better-sqlite3. */
function storageOf(db) {
  db.exec("CREATE TABLE IF NOT EXISTS key_values (key TEXT PRIMARY KEY, value TEXT)");
  const get = db.prepare("SELECT value FROM key_values WHERE key = ?").pluck();
  const put = db.prepare("INSERT OR REPLACE INTO key_values VALUES (?, ?)");
  const statements = new Map();
  return {
    get: async (key) => JSON.parse(get.get(key) ?? "null") ?? undefined,
    put: async (key, value) => void put.run(key, JSON.stringify(value)),
    transactionSync: (work) => db.transaction(work)(),
    sql: {
      exec(text, ...values) {
        if (!statements.has(text)) statements.set(text, db.prepare(text));
        const statement = statements.get(text);
        const rows = statement.reader ? statement.all(...values) : [];
        const rowsWritten = statement.reader ? 0 : statement.run(...values).changes;
        return { rowsWritten, toArray: () => rows, one: () => rows[0], [Symbol.iterator]: () => rows.values() };
      },
    },
  };
}
