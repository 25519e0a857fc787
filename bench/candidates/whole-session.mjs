/** The calls of a store that reads and writes a session as one value. */
export function wholeSession(append, history) {
  return {
    fill: append,
    async appendEach(sessionId, messages) {
      for (const message of messages) await append(sessionId, [message]);
    },
    history,
    last: async (sessionId, count) => (await history(sessionId)).slice(-count),
  };
}
