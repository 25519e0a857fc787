import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A log of one JSON line per message and one file per session, as command-line agents keep them. */
export const jsonl = {
  name: "JSONL log",
  open: (folder) => jsonl.reopen(folder),
  reopen(folder) {
    const fileOf = (sessionId) => join(folder, `${sessionId}.jsonl`);
    const lineOf = (message) => `${JSON.stringify(message)}\n`;
    const history = (sessionId) =>
      readFileSync(fileOf(sessionId), "utf8")
        .split("\n")
        .slice(0, -1)
        .map((line) => JSON.parse(line));
    return {
      path: folder,
      fill: (sessionId, messages) => appendFileSync(fileOf(sessionId), messages.map(lineOf).join("")),
      appendEach(sessionId, messages) {
        for (const message of messages) appendFileSync(fileOf(sessionId), lineOf(message));
      },
      history,
      last: (sessionId, count) => history(sessionId).slice(-count),
      close: () => {},
    };
  },
};
