import type { Dialect, SearchDialect } from "@stemma/store";
import {
  assertKnown,
  column,
  DATA_TABLES,
  first,
  type Marks,
  type Operation,
  oneNumber,
  READ_MARKS,
  recordVersion,
  reindexSome,
  run,
  SHARED_TABLES,
  tablesMissing,
} from "@stemma/store";
import type { Placement } from "../citus/placement.js";
import {
  assertMayMigrate,
  createSchema,
  migrateNext,
  NO_EXTRA_ERRORS,
  type PostgresMigration,
  statementsOf,
} from "./migration.js";
import { POSTGRES_MIGRATIONS } from "./migrations/index.js";
import { qualify } from "./names.js";

// That Citus is there is enough: it may move the tables to another server while a store is open.
const CITUS = "to_regclass('pg_catalog.pg_dist_object') IS NOT NULL AS citus";
const IS_SPREAD = `to_regprocedure('assistant_spread()') IS NOT NULL AS spread, ${CITUS}`;

/** Whether functions that read several times are left to run where they are called; of tables that are not spread. */
export const READ_APART = `SELECT count(o.colocationid) < count(*) AS apart FROM pg_proc p
  LEFT JOIN pg_catalog.pg_dist_object o ON o.classid = 'pg_proc'::regclass AND o.objid = p.oid
  WHERE p.pronamespace = (SELECT c.relnamespace FROM pg_class c WHERE c.oid = to_regclass('assistant_schema'))
    AND p.proname ~ '^assistant_(path|recent|matches|hits)'`;

const SETTINGS = "current_setting('server_encoding') AS encoding, current_setting('DateStyle') LIKE 'ISO%' AS iso";

/** Asks for what whoever set the database up decided. */
export const READ_SETTINGS = `SELECT ${SETTINGS}`;

export interface Settings {
  /** The name of the encoding in which the database keeps texts. */
  readonly encoding: string;
  /** Times are written as the standard does. */
  readonly iso: boolean;
}

// A name in a literal is qualified, where the schema has one.
const MISSING = `ARRAY(SELECT t.name FROM (VALUES ${DATA_TABLES.map((name) => `('${name}')`).join(", ")}) AS t (name)
    WHERE to_regclass(t.name) IS NULL)::text AS missing`;

/** Asks for the version and for what is left to index; fails where there are no tables. */
export const READ_STATE = `SELECT max(version) AS version, ${READ_MARKS}, ${IS_SPREAD}, ${SETTINGS}, ${MISSING} FROM assistant_schema`;

export interface State extends Marks, Settings {
  readonly version: number | null;
  readonly spread: boolean;
  readonly citus: boolean;
  /** The tables that should be there and are not, as an array of SQL; missing from what only stands in for a client. */
  readonly missing?: string;
}

/** Errors: `TABLES_MISSING` where the record says that they are of the version that is `known`. */
export function assertTables({ version, missing = "{}" }: State, known: number): void {
  if (version !== known || missing === "{}") return;
  const names = missing.slice(1, -1).replaceAll(/\\?"/g, "").split(",");
  throw tablesMissing(names, `the record says that version ${version} of the tables is there`);
}

export interface Apart {
  readonly apart: boolean;
}

/** The definitions of every version as one SQL script, which may be run again. See `schemaSql` of `stemma/postgres`. */
export function printSchema(
  schema: string | null,
  more: readonly string[] = [],
  migrations: readonly PostgresMigration[] = POSTGRES_MIGRATIONS,
): string {
  const all = migrations.flatMap((migration, index) => statementsOf(migration, index + 1));
  const statements = [...all, ...more].map((statement) => qualify(statement, schema));
  if (schema !== null) statements.unshift(createSchema(schema));
  return `-- The tables of stemma, version ${migrations.length}. Creates them, or upgrades those of the documents; may be run again.
BEGIN;

${NO_EXTRA_ERRORS};

${statements.join(";\n\n")};

COMMIT;
`;
}

/** Makes one step towards the present version of the tables. True when none is left. */
export function* migratePostgres(
  sql: Dialect,
  schema: string | null,
  migrations: readonly PostgresMigration[],
  placement: Placement,
  spreads: boolean,
): Operation<boolean> {
  const { version, isReadOnly } = yield* lockVersion(schema);
  if (isReadOnly && version < migrations.length) yield* assertMayMigrate(schema);
  assertKnown(version, migrations.length);
  if (version < migrations.length) {
    yield* recordVersion(version, yield* migrateNext(sql, migrations, version, schema));
    return false;
  }
  if (spreads) yield* spreadTables(placement);
  yield* findPlacement(placement);
  return yield* reindexSome(sql, sql.search as SearchDialect);
}

function* findPlacement(placement: Placement): Operation<void> {
  const found = yield* first<Pick<State, "spread" | "citus">>(`SELECT ${IS_SPREAD}`);
  placement.isSpread = found?.spread === true;
  placement.isApart = found?.citus === true && !placement.isSpread && (yield* first<Apart>(READ_APART))?.apart === true;
}

// A transaction of its own, like a version of the tables.
function* spreadTables({ code }: Placement): Operation<void> {
  if ((yield* first<Pick<State, "spread">>(`SELECT ${IS_SPREAD}`))?.spread === true) return;
  yield* run("SET LOCAL client_min_messages = warning");
  for (const statement of code?.statements ?? []) yield* run(statement);
}

/**
 * The recorded version, 0 for none. Whoever else migrates waits until the transaction ends. Locked before it is read: of two
 * that both had read, neither could go on to change the table. Processes that make the first tables wait at a lock of a name.
 */
function* lockVersion(schema: string | null): Operation<{ version: number; isReadOnly: boolean }> {
  let found = yield* findRecord(schema);
  if (found === undefined) {
    yield* run("SELECT pg_advisory_xact_lock(hashtextextended(?, 0))", qualify(RECORD, schema));
    found = yield* findRecord(schema);
  }
  if (found === undefined) {
    yield* assertNothingLeft(schema);
    return { version: 0, isReadOnly: false };
  }
  if (found.may) yield* run("LOCK TABLE assistant_schema IN ACCESS EXCLUSIVE MODE");
  const version = yield* oneNumber("SELECT max(version) AS version FROM assistant_schema");
  return { version, isReadOnly: !found.may };
}

// Nothing else makes these functions and tables, and one transaction makes them with the record.
function* assertNothingLeft(schema: string | null): Operation<void> {
  const space = `s.nspname = ANY (${schema === null ? "current_schemas(false)" : "ARRAY[?::name]"})`;
  const query = `SELECT s.nspname || '.' || p.proname || '()' AS name FROM pg_proc p JOIN pg_namespace s ON s.oid = p.pronamespace
     WHERE ${space} AND p.proname IN (${OWN_FUNCTIONS.map(() => "?").join(", ")})
     UNION SELECT s.nspname || '.' || c.relname FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace
     WHERE ${space} AND c.relkind IN ('r', 'p') AND c.relname IN (${DATA_TABLES.map(() => "?").join(", ")}) ORDER BY name`;
  const given = schema === null ? [] : [schema];
  const found = yield* column<string>(query, ...given, ...OWN_FUNCTIONS, ...given, ...DATA_TABLES);
  const bare = found.map((name) => name.slice(name.lastIndexOf(".") + 1));
  const left = found.filter((_, index) => !SHARED_TABLES.includes(bare[index] as string));
  if (left.length === 0) return;
  const missing = [RECORD, ...DATA_TABLES].filter((name) => !bare.includes(name));
  throw tablesMissing(missing, `${left.slice(0, 3).join(", ")} ${left.length === 1 ? "is" : "are"} still there`);
}

const OWN_FUNCTIONS = ["assistant_lock", "assistant_append", "assistant_path"];

const RECORD = "assistant_schema";

/**
 * Read from the catalog's rows. `to_regclass` would tell from what the server's process remembers: a table that it did not
 * find before it waited for a lock, it does not find behind the lock either.
 */
function findRecord(schema: string | null): Operation<{ may: boolean } | undefined> {
  const path = schema === null ? "current_schemas(false)" : "ARRAY[?::name]";
  const query = `SELECT has_table_privilege(t.oid, 'INSERT') AND has_table_privilege(t.oid, 'UPDATE') AS may
     FROM (SELECT ${path} AS names) AS path, pg_namespace s, pg_class t
     WHERE s.nspname = ANY (path.names) AND t.relnamespace = s.oid AND t.relname = ?
     ORDER BY array_position(path.names, s.nspname) LIMIT 1`;
  return first(query, ...(schema === null ? [] : [schema]), RECORD);
}
