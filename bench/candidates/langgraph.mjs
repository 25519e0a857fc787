import { join } from "node:path";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { openDatabase } from "../database.mjs";
import { wholeSession } from "./whole-session.mjs";

/** LangGraph's SQLite checkpointer: each step of a graph stores the state, in which the messages are one value. */
export const langgraph = {
  name: "LangGraph checkpointer",
  appendsPerTurn: 1,
  open: (folder) => langgraph.reopen(join(folder, "checkpoints.db")),
  reopen(path) {
    const db = openDatabase(path);
    const { put, history } = graphOn(new SqliteSaver(db));
    return { path, db, ...wholeSession(put, history), close: () => db.close() };
  },
};

/** What a graph does of which each step adds messages: it stores a checkpoint, and reads the newest. */
export function graphOn(saver) {
  const states = new Map();
  const threadOf = (thread_id) => ({ configurable: { thread_id, checkpoint_ns: "" } });
  return {
    async put(sessionId, added) {
      const state = states.get(sessionId) ?? { messages: [], version: 0, config: threadOf(sessionId) };
      const version = state.version + 1;
      const messages = [...state.messages, ...added];
      const checkpoint = {
        v: 4,
        id: `1ef4f797-8335-6428-8001-${version.toString(16).padStart(12, "0")}`,
        ts: new Date().toISOString(),
        channel_values: { messages },
        channel_versions: { messages: version },
        versions_seen: {},
      };
      const metadata = { source: "loop", step: version, parents: {} };
      const config = await saver.put(state.config, checkpoint, metadata, { messages: version });
      states.set(sessionId, { messages, version, config });
    },
    history: async (sessionId) => (await saver.getTuple(threadOf(sessionId))).checkpoint.channel_values.messages,
  };
}
