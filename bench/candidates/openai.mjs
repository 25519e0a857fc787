import { MemorySession } from "@openai/agents-core";

/** The OpenAI Agents SDK's session in memory: nothing is stored. An item's content is the message's parts. */
export const openai = {
  name: "OpenAI MemorySession",
  open() {
    const sessions = new Map();
    const session = (sessionId) => {
      if (!sessions.has(sessionId)) sessions.set(sessionId, new MemorySession({ sessionId }));
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
