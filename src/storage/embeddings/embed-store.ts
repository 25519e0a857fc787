import { StemmaError } from "../../errors.js";
import { parseQuery } from "../../model/query.js";
import type { SearchRequest, Store } from "../contract.js";
import type { OpenStore } from "../sql-store.js";
import type { EmbeddableStore, EmbeddedStore } from "./contract.js";
import { parseEmbedder } from "./embedder.js";
import { EmbeddingIndexer, type EmbedOptions } from "./indexer.js";
import type { VectorDialect } from "./vectors.js";
import { withVectors } from "./with-vectors.js";

/** A store that can be given an embedder. */
export function embeddable(given: OpenStore, dialect: VectorDialect, options: EmbedOptions = {}): EmbeddableStore {
  const { sql } = given;
  const store = sql.search === null ? given.store : withVectors(given.store, given, dialect);
  const open = { ...given, store };
  return {
    ...store,
    capabilities: { ...store.capabilities, embeddings: sql.search !== null },
    withEmbedder: (embedder) => {
      if (sql.search !== null) {
        return embedded(store, new EmbeddingIndexer(open, dialect, parseEmbedder(embedder), options));
      }
      const message = "withEmbedder() needs a store with search: open this store without `search: false`.";
      throw new StemmaError("SEARCH_UNAVAILABLE", { store: sql.name }, message);
    },
  };
}

function embedded(store: Store, work: EmbeddingIndexer): EmbeddedStore {
  const { sessions, userId } = store;
  // Nothing is awaited before the store's own method is called: calls of one turn keep their order.
  const waking = <Values extends unknown[], T>(
    method: (...values: Values) => Promise<T>,
    writtenTo: (...values: Values) => string,
  ) => {
    return async (...values: Values): Promise<T> => {
      const result = await method(...values);
      work.wrote(writtenTo(...values));
      return result;
    };
  };
  const search = (query: string, request: SearchRequest) =>
    work.search(parseQuery(query), userId === undefined ? request : { ...request, userId });
  return {
    ...store,
    forUser: (user) => embedded(store.forUser(user), work),
    capabilities: { ...store.capabilities, embeddings: true },
    session: (id) => {
      const session = store.session(id);
      const here = () => id;
      return {
        ...session,
        append: waking(session.append, here),
        appendSibling: waking(session.appendSibling, here),
        update: waking(session.update, here),
        upsert: waking(session.upsert, here),
        importTree: waking(session.importTree, here),
        search: (query, request) => search(query, { ...request, sessionId: id }),
      };
    },
    search,
    sessions: {
      ...sessions,
      fork: waking(sessions.fork, (_from, _at, { id }) => id),
      split: waking(sessions.split, (_from, _opening, { id }) => id),
    },
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
