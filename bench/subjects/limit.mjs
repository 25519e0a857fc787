import { join } from "node:path";
import { openDatabase } from "../database.mjs";
import { openLimit } from "../limit.mjs";

/** The limit: hand-written SQL. It writes one session at a time. */
export const limit = {
  name: "limit",
  open: (folder) => limit.reopen(join(folder, "limit.db")),
  reopen(path) {
    const db = openDatabase(path);
    const tables = openLimit(db);
    return {
      path,
      db,
      startSession: () => tables.start(),
      fill: (sessionId, messages) => inThousands(messages, (batch) => tables.appendAll(sessionId, batch)),
      appendEach(sessionId, messages) {
        for (const message of messages) tables.append(sessionId, message);
      },
      appendAll: (sessionId, messages) => tables.appendAll(sessionId, messages),
      history: (sessionId) => tables.history(sessionId),
      last: (sessionId, count) => tables.last(sessionId, count),
      delete: (sessionId, id) => tables.delete(sessionId, id),
      close: () => db.close(),
    };
  },
};

function inThousands(messages, append) {
  for (let start = 0; start < messages.length; start += 1000) append(messages.slice(start, start + 1000));
}
