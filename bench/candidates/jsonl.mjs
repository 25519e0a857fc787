import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * A file for each session, as pi writes it: a header, then a line of JSON for each message, which names its parent. It is read
 * whole, and the messages are those from the last one up.
 */
export const jsonl = {
  name: "JSONL as pi writes it",
  open: (folder) => jsonl.reopen(folder),
  reopen(folder) {
    const fileOf = (sessionId) => join(folder, `${sessionId}.jsonl`);
    const leaves = new Map();
    const write = (sessionId, entries) =>
      appendFileSync(fileOf(sessionId), entries.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
    const append = (sessionId, messages) => {
      const timestamp = new Date().toISOString();
      const isNew = !existsSync(fileOf(sessionId));
      if (isNew) {
        write(sessionId, [{ type: "session", version: 3, id: sessionId, timestamp, cwd: folder }]);
      }
      let parentId = leaves.get(sessionId) ?? (isNew ? null : history(sessionId).at(-1).id);
      const entries = messages.map(({ id, role, parts }) => {
        const entry = { type: "message", id, parentId, timestamp, message: { role, content: parts } };
        parentId = id;
        return entry;
      });
      write(sessionId, entries);
      leaves.set(sessionId, parentId);
    };
    const history = (sessionId) => {
      const lines = readFileSync(fileOf(sessionId), "utf8").split("\n").slice(1, -1);
      const entries = new Map(lines.map((line) => JSON.parse(line)).map((entry) => [entry.id, entry]));
      const path = [];
      let entry = [...entries.values()].at(-1);
      for (; entry !== undefined; entry = entries.get(entry.parentId)) {
        path.push({ id: entry.id, role: entry.message.role, parts: entry.message.content });
      }
      return path.reverse();
    };
    return {
      path: folder,
      fill: append,
      appendEach(sessionId, messages) {
        for (const message of messages) append(sessionId, [message]);
      },
      history,
      last: (sessionId, count) => history(sessionId).slice(-count),
      close: () => {},
    };
  },
};
