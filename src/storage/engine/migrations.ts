import { StemmaError } from "../../errors.js";
import type { Dialect } from "./dialect.js";
import { type Operation, run } from "./operation.js";

/**
 * Makes one version of the tables of the version before. Each is a file of its own in a dialect's `migrations/`, and is not
 * changed once it was published. Every statement may be run again: not every engine has transactions, and scripts are cut off.
 */
export type Migration = (sql: Dialect) => Operation<void>;

/**
 * Runs the first of the migrations above the `recorded` version, and records it: one transaction, of which this is the
 * whole. False when there is none. Errors: `DATABASE_TOO_NEW`.
 */
export function* runNextMigration(
  sql: Dialect,
  migrations: readonly Migration[],
  recorded: number,
): Operation<boolean> {
  if (recorded > migrations.length) {
    const message = `The database has version ${recorded} of the tables; this program knows ${migrations.length}. Upgrade stemma.`;
    throw new StemmaError("DATABASE_TOO_NEW", { version: recorded, known: migrations.length }, message);
  }
  const migration = migrations[recorded];
  if (migration === undefined) return false;
  yield* migration(sql);
  // One row, whose other columns stay: every program that opens the database reads all of the table.
  const record =
    recorded === 0
      ? "INSERT INTO assistant_schema (version, applied_at) VALUES (?, ?)"
      : `UPDATE assistant_schema SET version = ?, applied_at = ? WHERE version = ${recorded}`;
  yield* run(record, recorded + 1, new Date().toISOString());
  return true;
}
