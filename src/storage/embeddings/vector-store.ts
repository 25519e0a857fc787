import { sha256 } from "../../model/sha256.js";
import type { VectorStore } from "../contract.js";
import type { Operation } from "../engine/operation.js";
import { readAs, writeAs } from "../operations/owners.js";
import type { OpenStore } from "../sql-store.js";
import { importVectors } from "./import-vectors.js";
import { listVectors } from "./list-vectors.js";
import { findModel, migrateVectors, type VectorDialect } from "./vectors.js";

/** The vectors of a store, or of one user's sessions. */
export function vectorStore({ runner, sql }: OpenStore, dialect: VectorDialect, userId?: string): VectorStore {
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
