import type { Dialect } from "../engine/dialect.js";
import { column, type Operation, oneNumber, run } from "../engine/operation.js";
import { sameSession } from "../engine/session-rows.js";
import type { CheckDialect } from "./dialect.js";
import type { Findings } from "./findings.js";

const orphanVectors = (sql: Dialect) =>
  `NOT EXISTS (SELECT 1 FROM assistant_messages m WHERE ${sameSession(sql, "m", "assistant_vectors")}m.n = assistant_vectors.n)`;

/** Vectors of messages that are not there, and those of another length than the model's. */
export function* checkVectors(sql: Dialect, check: CheckDialect, found: Findings): Operation<void> {
  if ((yield* sql.columns("assistant_vectors")).length === 0) return;
  found.count("assistant_vectors", yield* oneNumber("SELECT count(*) AS count FROM assistant_vectors"));
  for (const rowId of yield* column<number>(`SELECT n FROM assistant_vectors WHERE ${orphanVectors(sql)}`)) {
    found.add("vector", "assistant_vectors", null, null, `The message of row ${rowId}, which it is of, is not there.`);
  }
  for (const rowId of yield* column<number>(`SELECT v.n FROM ${WRONG_LENGTH(check)}`)) {
    found.add("vector", "assistant_vectors", null, null, `The vector of row ${rowId} is not one of the model's.`);
  }
}

const WRONG_LENGTH = (check: CheckDialect) => `assistant_vectors v CROSS JOIN assistant_embedder e
  WHERE v.embedder > e.no OR v.embedder < 0 OR (v.embedder = e.no AND v.vector IS NOT NULL AND ${check.vectorLength} <> e.dimensions)`;

/** Vectors are made anew by the embedder, so a wrong one is marked as old. */
export function* repairVectors(sql: Dialect, check: CheckDialect): Operation<void> {
  if ((yield* sql.columns("assistant_vectors")).length === 0) return;
  yield* run(`DELETE FROM assistant_vectors WHERE ${orphanVectors(sql)}`);
  yield* run(`UPDATE assistant_vectors SET embedder = 0 WHERE id IN (SELECT v.id FROM ${WRONG_LENGTH(check)})`);
}
