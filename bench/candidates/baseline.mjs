import { join } from "node:path";
import { openBaseline } from "../baseline.mjs";
import { openDatabase } from "../database.mjs";

/** The baseline: hand-written SQL. It writes one session at a time. */
export const baseline = {
  name: "baseline",
  open: (folder) => baseline.reopen(join(folder, "baseline.db")),
  reopen(path) {
    const db = openDatabase(path);
    const tables = openBaseline(db);
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
