import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { MemorySession } from "@openai/agents-core";

/** The OpenAI Agents SDK's session in memory: nothing is stored. */
export const openai = candidate("OpenAI MemorySession", (sessionId) => new MemorySession({ sessionId }));

/** A file for each session, as the SDK's examples show one: a JSON of all items. The SDK ships none. */
export const openaiFile = {
  ...candidate("OpenAI file session", (sessionId, folder) => fileSession(join(folder, `${sessionId}.json`))),
  appendsPerTurn: 1,
};

// An item's content is the message's parts.
function candidate(name, create) {
  return {
    name,
    open(folder) {
      const sessions = new Map();
      const session = (sessionId) => {
        if (!sessions.has(sessionId)) sessions.set(sessionId, create(sessionId, folder));
        return sessions.get(sessionId);
      };
      const read = async (sessionId, limit) =>
        (await session(sessionId).getItems(limit)).map(({ id, role, content }) => ({ id, role, parts: content }));
      const itemOf = ({ id, role, parts }) => ({ type: "message", id, role, content: parts });
      return {
        fill: (sessionId, messages) => session(sessionId).addItems(messages.map(itemOf)),
        async appendEach(sessionId, messages) {
          const one = session(sessionId);
          for (const message of messages) await one.addItems([itemOf(message)]);
        },
        history: (sessionId) => read(sessionId),
        last: read,
        close: () => {},
      };
    },
  };
}

function fileSession(path) {
  const read = () => (existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : []);
  return {
    getItems: async (limit) => (limit === undefined ? read() : read().slice(-limit)),
    async addItems(items) {
      writeFileSync(path, JSON.stringify([...read(), ...items]));
    },
  };
}
