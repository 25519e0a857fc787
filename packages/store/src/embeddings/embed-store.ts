import { parseQuery, StemmaError, sha256 } from "@stemma/model";
import type {
  ImportedVector,
  KeptVector,
  OnceOperation,
  SearchRequest,
  Store,
  VectorModel,
  VectorStore,
} from "../contract/store.js";
import type { Dialect } from "../engine/dialect.js";
import { all, type Operation, rowsOf, run, sameSession } from "../engine/operation.js";
import type { ContentRow } from "../operations/messages/content.js";
import { readAs, writeAs } from "../operations/registry/owners.js";
import { sessionOf } from "../operations/registry/session-head.js";
import { rerankable } from "../rerank/rerank-store.js";
import type { OpenStore } from "../sql/sql-store.js";
import { textToEmbed } from "./backlog.js";
import type { EmbeddableStore, EmbeddedStore, Embedder, EmbeddingModel } from "./contract.js";
import { parseEmbedder } from "./embedder.js";
import { EmbeddingIndexer, type EmbedOptions } from "./indexer.js";
import { type Embedded, listVectors, plain, storeVectors } from "./store-vectors.js";
import { findModel, migrateVectors, readClaim, type VectorDialect } from "./vector-bytes.js";
export function embeddable(given: OpenStore, dialect: VectorDialect, options: EmbedOptions = {}): EmbeddableStore {
  const { sql } = given;
  const store = sql.search === null ? given.store : withVectors(given.store, given, dialect);
  const open = { ...given, store };
  return rerankable({
    ...store,
    capabilities: { ...store.capabilities, embeddings: sql.search !== null },
    withEmbedder: (embedder: Embedder | EmbeddingModel) => {
      if (sql.search !== null) {
        return rerankable(embedded(store, new EmbeddingIndexer(open, dialect, parseEmbedder(embedder), options)));
      }
      const message = "withEmbedder() needs a store with search: open this store without `search: false`.";
      throw new StemmaError("SEARCH_UNAVAILABLE", { store: sql.name }, message);
    },
  });
}

function embedded(store: Store, work: EmbeddingIndexer): Omit<EmbeddedStore, "withReranker"> {
  const { entries, once, sessions, userId } = store;
  const wakingEntries = <Values extends unknown[], T>(method: (...values: Values) => Promise<T>) => {
    return async (...values: Values): Promise<T> => {
      const result = await method(...values);
      work.wroteEntries();
      return result;
    };
  };
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
    ...(once !== undefined && { once: (operation: OnceOperation) => embedded(once(operation), work) }),
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
    entries: {
      ...entries,
      set: wakingEntries(entries.set),
      append: wakingEntries(entries.append),
      search: (scope, query, options) => work.searchEntries(userId, scope, parseQuery(query), options),
    },
    writeTogether: wakingEntries(store.writeTogether),
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

function withVectors(store: Store, open: OpenStore, dialect: VectorDialect): Store {
  const { once, forUser } = store;
  // Not copied: the parts of a store are made when they are asked for.
  return Object.assign(store, {
    vectors: vectorStore(open, dialect, store.userId),
    ...(once !== undefined && { once: (operation: OnceOperation) => withVectors(once(operation), open, dialect) }),
    forUser: (userId: string) => withVectors(forUser(userId), open, dialect),
  });
}

/** The vectors of a store, or of one user's sessions. */
function vectorStore({ runner, sql }: OpenStore, dialect: VectorDialect, userId?: string): VectorStore {
  const reading = <T>(id: string, operation: () => Operation<T>) =>
    runner.read(userId === undefined ? operation : readAs(userId, id, operation));
  const writing = <T>(id: string, operation: () => Operation<T>) =>
    runner.write(userId === undefined ? operation : writeAs(userId, id, operation), "idempotent");
  let prepared = false;
  return {
    model: () => runner.read(() => findModel(sql)),
    async *list(sessionId, model) {
      for (let after = 0; ; ) {
        const from = after;
        const { rows, next } = await reading(sessionId, () => listVectors(sql, dialect, sessionId, model, from));
        for (const { id, text, vector } of rows) yield { messageId: id, text: sha256(text), vector };
        if (next === null) return;
        after = next;
      }
    },
    import: async (sessionId, model, vectors) => {
      if (!prepared) await runner.write(() => migrateVectors(sql, dialect), "idempotent");
      prepared = true;
      return writing(sessionId, () => importVectors(sql, dialect, sessionId, model, vectors));
    },
  };
}

interface KnownRow extends ContentRow {
  readonly id: string;
  readonly embedder: number | null;
  readonly vector: unknown;
}

/** Engines bind at least a hundred values to a statement. */
const IDS_AT_ONCE = 90;

/** Stores vectors that were read from another store (`VectorStore.import`). Errors: `COPY_CONFLICT`. */
function* importVectors(
  sql: Dialect,
  dialect: VectorDialect,
  sessionId: string,
  { id, dimensions }: VectorModel,
  vectors: readonly KeptVector[],
): Operation<ImportedVector[]> {
  const claim = yield* readClaim(sql.forUpdate);
  if (claim.id !== "" && (claim.id !== id || claim.dimensions !== dimensions)) throw ofAnother(claim);
  const known = yield* findRows(sql, dialect, sessionId, vectors);
  const embedded: Embedded[] = [];
  const states: ImportedVector[] = [];
  for (const { messageId, text: digest, vector } of vectors) {
    const row = known.get(messageId);
    const text = row === undefined ? "" : yield* textToEmbed(sql, sessionId, row);
    const state = row === undefined || sha256(text) !== digest ? "other" : stateOf(dialect, row, claim.no, vector);
    states.push(state);
    if (row === undefined || state !== "written") continue;
    // A row of the same model gets the numbers of the one that is copied.
    if (row.embedder === claim.no) {
      const rows = rowsOf(sql, sessionId, sessionOf(row.n));
      yield* run(...rows.where("UPDATE assistant_vectors SET embedder = 0", "n = ?", row.n));
    }
    embedded.push({ sessionId, n: row.n, text, twin: null, vector: vector === undefined ? "refused" : vector });
  }
  if (embedded.length > 0) yield* storeVectors(sql, dialect, { id, dimensions, own: null }, embedded);
  return states;
}

function stateOf(dialect: VectorDialect, row: KnownRow, present: number, vector: KeptVector["vector"]): ImportedVector {
  const isMade = row.embedder === present && present > 0;
  if (vector === undefined) return isMade ? "own" : row.embedder === null ? "written" : "present";
  if (!isMade) return "written";
  const stored = row.vector === null ? null : plain(dialect.decode(row.vector));
  const isSame =
    stored === null || vector === null
      ? stored === vector
      : stored.length === vector.length && stored.every((x, at) => x === vector[at]);
  return isSame ? "present" : "written";
}

function* findRows(
  sql: Dialect,
  dialect: VectorDialect,
  sessionId: string,
  vectors: readonly KeptVector[],
): Operation<Map<string, KnownRow>> {
  const known = new Map<string, KnownRow>();
  for (let start = 0; start < vectors.length; start += IDS_AT_ONCE) {
    const ids = vectors.slice(start, start + IDS_AT_ONCE).map(({ messageId }) => messageId);
    const query = `SELECT m.n AS n, m.id AS id, m.content AS content, v.embedder AS embedder, ${dialect.read} AS vector
       FROM assistant_messages m LEFT JOIN assistant_vectors v ON ${sameSession(sql, "v", "m")}v.n = m.n
       WHERE m.session_id = ? AND m.id IN (${ids.map(() => "?").join(", ")})`;
    const rows = yield* all<KnownRow>(query, sessionId, ...ids);
    for (const row of rows) known.set(row.id, row);
  }
  return known;
}

function ofAnother({ id, dimensions }: VectorModel): StemmaError {
  const message = `The target has vectors of the embedder "${id}" with ${dimensions} numbers each. None of them was overwritten; copy without vectors, and have that embedder make them.`;
  return new StemmaError("COPY_CONFLICT", { embedder: id, dimensions }, message);
}
