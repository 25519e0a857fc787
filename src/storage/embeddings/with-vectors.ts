import { once } from "../../once.js";
import type { Store, VectorStore } from "../contract.js";
import type { OpenStore } from "../sql-store.js";
import type { VectorDialect } from "./vectors.js";

/** A store whose vectors can be copied. */
export function withVectors(store: Store, open: OpenStore, dialect: VectorDialect): Store {
  // A copy loads the code.
  const load = once(async (): Promise<VectorStore> => {
    const { vectorStore } = await import("./vector-store.js");
    return vectorStore(open, dialect, store.userId);
  });
  return {
    ...store,
    vectors: {
      model: async () => (await load()).model(),
      async *list(...given) {
        yield* (await load()).list(...given);
      },
      import: async (...given) => (await load()).import(...given),
    },
    forUser: (userId) => withVectors(store.forUser(userId), open, dialect),
  };
}
