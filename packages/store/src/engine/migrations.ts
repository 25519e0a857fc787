import { StemmaError } from "@stemma/model";
import type { Dialect } from "./dialect.js";
import { type Operation, oneNumber, run } from "./operation.js";

/**
 * Makes one version of the tables of the version before. Each is a file of its own in a dialect's `migrations/`, and is not
 * changed once it was published. Every statement may be run again: not every engine has transactions, and scripts are cut off.
 */
export type Migration = (sql: Dialect) => Operation<void>;

/**
 * Runs the first of the migrations above the `recorded` version, and records it: one transaction, of which this is the
 * whole. False when there is none. Errors: `DATABASE_TOO_NEW`, `MIGRATION_REQUIRED`.
 */
export function* runNextMigration(
  sql: Dialect,
  migrations: readonly Migration[],
  recorded: number,
): Operation<boolean> {
  assertKnown(recorded, migrations.length);
  const migration = migrations[recorded];
  if (migration === undefined) return false;
  yield* migration(sql);
  yield* recordVersion(recorded, recorded + 1);
  return true;
}

/** The last versions of the tables before 0.1.0, of SQLite and of Postgres: then the numbers began anew. */
const BEFORE_RELEASE = [11, 25];

/** Errors: `DATABASE_TOO_NEW`; `MIGRATION_REQUIRED` for tables from before 0.1.0. */
export function assertKnown(version: number, known: number): void {
  if (version <= known) return;
  if (BEFORE_RELEASE.includes(version)) {
    const message = `The database has tables from before stemma 0.1.0 (version ${version}). In a clone of its repository, run \`node scripts/to-first-release.mjs <database>\` on a copy of it.`;
    throw new StemmaError("MIGRATION_REQUIRED", { version, known }, message);
  }
  const message = `The database has version ${version} of the tables; this program knows ${known}. Upgrade stemma.`;
  throw new StemmaError("DATABASE_TOO_NEW", { version, known }, message);
}

/** Writes that the tables, recorded as `before` (0: not at all), are of this version. Errors: `STORE_FAILED` where that is not kept. */
export function* recordVersion(before: number, version: number): Operation<void> {
  // One row, whose other columns stay: every program that opens the database reads all of the table.
  const record =
    before === 0
      ? "INSERT INTO assistant_schema (version, applied_at) VALUES (?, ?)"
      : `UPDATE assistant_schema SET version = ?, applied_at = ? WHERE version = ${before}`;
  yield* run(record, version, new Date().toISOString());
  // What keeps nothing would be asked for the same step without end. That shows at the first one: a Durable Object pays for rows.
  if (before > 0 || (yield* oneNumber("SELECT max(version) AS version FROM assistant_schema")) === version) return;
  const message =
    "The database does not keep what is written to it. In a test, give Stemma a database in memory: memory() of stemma/memory.";
  throw new StemmaError("STORE_FAILED", { version }, message);
}
