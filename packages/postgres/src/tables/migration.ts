import { StemmaError } from "@stemma/model";
import type { Dialect } from "@stemma/store";
import { first, type Operation, oneNumber, run } from "@stemma/store";
import { READ_ONLY_ADVICE } from "../error.js";
import { qualify, quoteIdentifier, TABLES } from "./names.js";

/** One version of the tables. See `Migration`. */
export interface PostgresMigration {
  /**
   * Tables, columns, functions: the part that only an owner may run, here or as a printed script. Those of all versions, run one
   * after the other on whatever version, leave the present definitions: a function that a version changes is created by it anew.
   */
  readonly definitions: readonly string[];
  /** Changes rows, with the rights that every program has. */
  rows?(sql: Dialect, schema: string | null): Operation<void>;
}

/**
 * The statements of a version's definitions. The last one marks that the others were run, by whomever; that the rows are of
 * that version too is what `assistant_schema` records.
 */
export function statementsOf({ definitions }: PostgresMigration, version: number): string[] {
  return [
    ...definitions,
    `CREATE OR REPLACE FUNCTION assistant_version() RETURNS INTEGER LANGUAGE sql IMMUTABLE AS 'SELECT ${version}'`,
  ];
}

/** The owner of a database may have set that a function is an error whose variables look doubtful. */
export const NO_EXTRA_ERRORS = "SET LOCAL plpgsql.extra_errors = 'none'";

export const createSchema = (schema: string) => `CREATE SCHEMA IF NOT EXISTS ${quoteIdentifier(schema)}`;

/**
 * Brings the tables to the next version, and gives the version that they have then: a later one, where nothing is left to do
 * for it. Errors: `MIGRATION_REQUIRED`.
 */
export function* migrateNext(
  sql: Dialect,
  migrations: readonly PostgresMigration[],
  recorded: number,
  schema: string | null,
): Operation<number> {
  // From nothing, the definitions of all versions are made at once, as by the printed script.
  const wanted = recorded === 0 ? migrations.length : recorded + 1;
  const defined = Math.max(recorded, yield* definedVersion(schema));
  if (defined < wanted) {
    yield* assertMayMigrate(schema);
    const missing = migrations
      .slice(defined, wanted)
      .flatMap((migration, index) => statementsOf(migration, defined + index + 1));
    yield* define(schema === null ? missing : [createSchema(schema), ...missing], schema);
  }
  yield* migrations[recorded]?.rows?.(sql, schema) ?? [];
  const last = Math.min(Math.max(defined, wanted), migrations.length);
  let version = recorded + 1;
  while (version < last && migrations[version]?.rows === undefined) version += 1;
  return version;
}

/** Runs definitions: a new database has more than a hundred of them, and they take one round trip. */
function* define(definitions: readonly string[], schema: string | null): Operation<void> {
  // Otherwise a client may print a notice for each thing that is there already.
  const statements = ["SET LOCAL client_min_messages = warning", NO_EXTRA_ERRORS, ...definitions];
  // Citus does not spread a schema, and its tables, that a block makes.
  const query = "SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') AS citus";
  const row = yield* first<{ citus: boolean }>(query);
  for (const statement of row?.citus ? statements : [asBlock(statements, schema)]) yield* run(statement);
}

// What stands in a block, and the name of the schema that gets into it, must not hold its tags.
function asBlock(statements: readonly string[], schema: string | null): string {
  let word = "definition";
  while ([...statements, schema ?? ""].some((text) => text.includes(word))) word = `_${word}`;
  const lines = statements.map((statement) => `EXECUTE $${word}$${statement}$${word}$;`);
  return `DO $block_${word}$ BEGIN\n${lines.join("\n")}\nEND $block_${word}$`;
}

// The version up to which a script has run already, or 0: definitions that were recorded are not asked for.
function* definedVersion(schema: string | null): Operation<number> {
  const query = "SELECT to_regprocedure(?) IS NOT NULL AS there";
  const row = yield* first<{ there: boolean }>(query, qualify("assistant_version()", schema));
  return row?.there ? yield* oneNumber("SELECT assistant_version() AS version") : 0;
}

/** Told before anything is tried: in a transaction that failed nothing more can be asked. Errors: `MIGRATION_REQUIRED`. */
export function* assertMayMigrate(schema: string | null): Operation<void> {
  const row = yield* first<{ may: boolean; isReadOnly: boolean; isTemporary: boolean; role: string }>(
    `SELECT current_user AS role, coalesce(space.oid = pg_my_temp_schema(), false) AS "isTemporary", current_setting('transaction_read_only') = 'on' AS "isReadOnly",
       coalesce(has_schema_privilege(space.oid, 'CREATE'), has_database_privilege(current_database(), 'CREATE'))
       AND NOT EXISTS (
         SELECT FROM pg_class c WHERE c.relnamespace = space.oid AND c.relname = ANY(?::text::text[])
         AND NOT pg_has_role(c.relowner, 'USAGE')) AS may
     FROM (SELECT to_regnamespace(coalesce(?::text, quote_ident(current_schema())))::oid AS oid) AS space`,
    `{${TABLES.join(",")}}`,
    schema === null ? null : quoteIdentifier(schema),
  );
  if (row?.isReadOnly) {
    const message = `The tables must be created or upgraded, and the database takes no writes. ${READ_ONLY_ADVICE}`;
    throw new StemmaError("MIGRATION_REQUIRED", { role: row.role, schema }, message);
  }
  if (row?.isTemporary && schema === null) {
    const message = `The search path begins with pg_temp, in which tables last as long as a connection. Put it last, or pass \`schema\` to postgres().`;
    throw new StemmaError("STORE_UNSUPPORTED", {}, message);
  }
  if (row?.may) return;
  const command = `npx stemma migrate --db <url of a role that may>${schema === null ? "" : ` --schema ${shellWord(schema)}`}`;
  const message = `The tables must be created or upgraded, and role "${row?.role}" may not. Run \`${command}\`, or the SQL of schemaSql() from "stemma/postgres", and grant this role USAGE on the schema and SELECT, INSERT, UPDATE and DELETE on the tables.`;
  throw new StemmaError("MIGRATION_REQUIRED", { role: row?.role, schema }, message);
}

function shellWord(text: string): string {
  return /^[\w.-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
