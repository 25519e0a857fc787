import { StemmaError } from "../../errors.js";
import { type Embedder, parseEmbedder } from "../embedder.js";
import type { EmbeddableStore, EmbeddedStore } from "../embeddings.js";
import type { OpenStore } from "./store.js";
import { type EmbedOptions, VectorWork } from "./vector-work.js";
import type { VectorDialect } from "./vectors.js";

/** A store that can be given an embedder. */
export function embeddable(open: OpenStore, dialect: VectorDialect, options: EmbedOptions = {}): EmbeddableStore {
  const { store, sql } = open;
  return {
    ...store,
    capabilities: { ...store.capabilities, embeddings: sql.search !== null },
    withEmbedder: (given) => {
      if (sql.search !== null) return embedStore(open, dialect, parseEmbedder(given), options);
      const message = "This store was opened without search, and an embedder adds to it. Open it with search.";
      throw new StemmaError("SEARCH_UNAVAILABLE", { store: sql.name }, message);
    },
  };
}

function embedStore(open: OpenStore, dialect: VectorDialect, embedder: Embedder, options: EmbedOptions): EmbeddedStore {
  const { store } = open;
  const work = new VectorWork(open, dialect, embedder, options);
  const { messages, history, sessions } = store;
  // Nothing is awaited before the store's own method is called: calls of one turn keep their order.
  const waking = <Values extends unknown[], T>(method: (...values: Values) => Promise<T>) => {
    return async (...values: Values): Promise<T> => {
      const result = await method(...values);
      work.background.wake();
      return result;
    };
  };
  return {
    ...store,
    capabilities: { ...store.capabilities, embeddings: true },
    messages: {
      ...messages,
      append: waking(messages.append),
      update: waking(messages.update),
      upsert: waking(messages.upsert),
      importTree: waking(messages.importTree),
    },
    history: { ...history, search: (query, request) => work.search(query, request) },
    sessions: { ...sessions, fork: waking(sessions.fork), split: waking(sessions.split) },
    close: async () => {
      await work.stop();
      await store.close();
    },
    embeddings: {
      backlog: () => work.backlog(),
      flush: () => work.flush(),
      get lastError() {
        return work.background.lastError;
      },
    },
  };
}
