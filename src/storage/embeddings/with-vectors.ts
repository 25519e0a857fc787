import type { Store } from "../contract.js";
import type { OpenStore } from "../sql-store.js";
import { vectorStore } from "./vector-store.js";
import type { VectorDialect } from "./vectors.js";

/** A store whose vectors can be copied. */
export function withVectors(store: Store, open: OpenStore, dialect: VectorDialect): Store {
  return {
    ...store,
    vectors: vectorStore(open, dialect, store.userId),
    forUser: (userId) => withVectors(store.forUser(userId), open, dialect),
  };
}
