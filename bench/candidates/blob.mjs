import { join } from "node:path";
import { openDatabase } from "../database.mjs";
import { FileSessionStorage } from "../stemma.mjs";
import { wholeSession } from "./whole-session.mjs";

/** The documents' storages, which keep a session as one JSON: in a row of SQLite, and in a file, here our implementation of it. */
export const sqliteBlob = candidate("one row per session", (folder) => sqliteStorage(join(folder, "sessions.db")));
export const fileBlob = candidate("one file per session", (folder) => ({
  storage: new FileSessionStorage(join(folder, "sessions")),
  close: () => {},
}));

function candidate(name, openStorage) {
  const self = {
    name,
    appendsPerTurn: 1,
    open: (folder) => self.reopen(folder),
    reopen(path) {
      const { storage, close } = openStorage(path);
      const states = new Map();
      const append = async (sessionId, added) => {
        if (!states.has(sessionId)) states.set(sessionId, newState(sessionId));
        const state = states.get(sessionId);
        for (const { id, role, parts } of added) state.messages.push({ id, role, content: parts });
        await storage.save(state);
      };
      const history = async (sessionId) =>
        (await storage.load(sessionId)).messages.map(({ id, role, content }) => ({ id, role, parts: content }));
      return { path, ...wholeSession(append, history), close };
    },
  };
  return self;
}

function newState(id) {
  const usage = { input_tokens: 0, output_tokens: 0 };
  return { id, messages: [], usage, metadata: {}, createdAt: Date.now(), updatedAt: Date.now() };
}

/** The class of the documents' page on session storages. */
function sqliteStorage(path) {
  const db = openDatabase(path);
  db.exec(
    "CREATE TABLE IF NOT EXISTS sessions (id TEXT PRIMARY KEY, state TEXT NOT NULL, updated_at INTEGER NOT NULL)",
  );
  const storage = {
    async save(state) {
      db.prepare("INSERT OR REPLACE INTO sessions (id, state, updated_at) VALUES (?, ?, ?)").run(
        state.id,
        JSON.stringify(state),
        Date.now(),
      );
    },
    async load(sessionId) {
      const row = db.prepare("SELECT state FROM sessions WHERE id = ?").get(sessionId);
      return row ? JSON.parse(row.state) : undefined;
    },
  };
  return { storage, close: () => db.close() };
}
