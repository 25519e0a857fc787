import { join } from "node:path";
import { AgentSessionProvider, Session } from "agents-0.22/experimental/memory/session";
import { openDatabase } from "../database.mjs";
import { writeRows } from "./agents-22-rows.mjs";

/** agents@0.22.0, the last version with the documented API: its provider, and its Session on it. */
export const agents22 = candidate("agents@0.22 provider", (host, id) => new AgentSessionProvider(host, id));
export const agents22Session = candidate("agents@0.22 Session", (host, id) => Session.create(host).forSession(id));

function candidate(name, create) {
  const self = {
    name,
    appendsPerTurn: 5,
    open: (folder) => self.reopen(join(folder, "agents.db")),
    reopen(path) {
      const db = openDatabase(path);
      const host = hostOf(db);
      const sessions = new Map();
      const session = (id) => {
        if (!sessions.has(id)) sessions.set(id, create(host, id));
        return sessions.get(id);
      };
      return {
        path,
        db,
        async fill(sessionId, messages) {
          // Its own appends read the index of all messages each time. So all but the ends are written as it writes them; the
          // last one is its own again, which tells it where it is.
          await session(sessionId).appendMessage(messages[0]);
          writeRows(db, sessionId, messages.slice(0, -1));
          await session(sessionId).appendMessage(messages.at(-1), messages.at(-2).id);
        },
        async appendEach(sessionId, messages) {
          const one = session(sessionId);
          for (const message of messages) await one.appendMessage(message);
        },
        history: (sessionId) => session(sessionId).getHistory(),
        last: async (sessionId, count) =>
          (
            await (session(sessionId) instanceof Session
              ? session(sessionId).getRecentHistory(0, count)
              : session(sessionId).getRecentHistory(null, 0, count))
          ).messages,
        close: () => db.close(),
      };
    },
  };
  return self;
}

/** The documented host: an object with a `sql` tagged template. */
function hostOf(db) {
  const statements = new Map();
  return {
    sql(strings, ...values) {
      const text = strings.join("?");
      if (!statements.has(text)) statements.set(text, db.prepare(text));
      const statement = statements.get(text);
      if (statement.reader) return statement.all(...values);
      statement.run(...values);
      return [];
    },
  };
}
