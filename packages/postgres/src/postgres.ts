import { check, defineOptions, invalid } from "@stemma/model";
import type { EmbeddableStore, OpenStore } from "@stemma/store";
import { checkable, checkSettings, embeddable, redactedWith } from "@stemma/store";
import { postgresCheck } from "./check.js";
import { SPREAD_TABLES } from "./citus/spread.js";
import { openUrl, type PostgresSource } from "./drivers/client.js";
import { readRows } from "./drivers/column-types.js";
import { postgresVectors, VECTOR_TABLES } from "./search/vectors.js";
import { openClient, openPostgres, type PostgresOptions, schemaOf } from "./store.js";
import { printSchema } from "./tables/schema.js";

export type {
  PGliteDatabase,
  PgClientLike,
  PostgresClient,
  PostgresConnection,
  PostgresHandle,
  PostgresJs,
  PostgresPool,
  PostgresSource,
} from "./drivers/client.js";
export type { PostgresOptions } from "./store.js";

const OPTIONS = defineOptions<PostgresOptions>({
  schema: check.text,
  citus: check.flag,
  prepare: check.flag,
  search: checkSettings,
  redact: check.callable,
});
const SCHEMA_SQL = defineOptions<PostgresOptions & { embeddings?: boolean }>({
  ...OPTIONS.checks,
  embeddings: check.flag,
});

/**
 * A store in Postgres 13 or later. Takes a URL (then `pg` or `postgres` must be installed), or a client that you opened: a
 * `Pool` or `Client` of pg, the function of postgres.js or Bun.SQL, a PGlite database, or a database of Drizzle on one of them. `close()` does not close your client. A `Client`
 * runs one call at a time; do not begin a transaction on it while a call runs.
 * Errors: `INVALID_ARGUMENT`, `STORE_UNSUPPORTED`; at the first use `DRIVER_MISSING`, `MIGRATION_REQUIRED`,
 * `DATABASE_TOO_NEW`, `CONNECTION_LOST`.
 * @example
 * const store = postgres("postgres://app:secret@localhost/app", { schema: "stemma" });
 * await store.migrate(); // with a role that may create tables; also done by the first call
 */
export function postgres(source: string | PostgresSource, options: PostgresOptions = {}): EmbeddableStore {
  OPTIONS.assert(options, "postgres()");
  if (typeof source !== "string") return storeOn(openClient(source, options), options);
  if (!/^postgres(?:ql)?:\/\//.test(source)) {
    throw invalid("postgres() takes a URL that starts with postgres:// or postgresql://, or an open client.");
  }
  const { driver, close } = openUrl(source, options.prepare);
  return storeOn(openPostgres(driver, options, close), options);
}

function storeOn(open: OpenStore, { redact }: PostgresOptions): EmbeddableStore {
  return redactedWith(embeddable(checkable(open, postgresCheck), postgresVectors), redact);
}

/** Stores in the schemas of one database. */
export interface PostgresSchemas {
  open(schema: string): EmbeddableStore;
  /** The schemas that hold tables of Stemma and whose names begin so. */
  names(prefix: string): Promise<string[]>;
  /** Drops a schema with all that is in it; resolves to whether it was there. Errors: `INVALID_ARGUMENT` for one of another program. */
  drop(schema: string): Promise<boolean>;
  close(): Promise<void>;
}

const HAS_TABLES = "EXISTS (SELECT FROM pg_class WHERE relnamespace = s.oid AND relname = 'assistant_schema')";
const IS_EMPTY = "NOT EXISTS (SELECT FROM pg_class WHERE relnamespace = s.oid)";

/**
 * Stores in the schemas of one database, on one pool, which `close` ends; closing a store leaves it open. No statement is kept
 * prepared: those of each schema are others, and a connection would keep them all. Errors of `open`: those of `postgres()`.
 */
export function postgresSchemas(url: string): PostgresSchemas {
  const { driver, close } = openUrl(url, false);
  return {
    open: (schema) => storeOn(openPostgres(driver, { schema }), {}),
    names: async (prefix) => {
      const sql = `SELECT nspname::text AS name FROM pg_namespace s WHERE starts_with(nspname, $1) AND ${HAS_TABLES}`;
      return readRows(await driver.query(sql, [prefix])).map(({ name }) => String(name));
    },
    drop: async (schema) => {
      const sql = `SELECT ${HAS_TABLES} OR ${IS_EMPTY} AS ours FROM pg_namespace s WHERE nspname = $1`;
      const [found] = readRows(await driver.query(sql, [schema]));
      if (found === undefined) return false;
      if (!found.ours) throw invalid(`The schema "${schema}" is another program's, and stays.`, { schema });
      await driver.query(`DROP SCHEMA IF EXISTS "${schema.replaceAll('"', '""')}" CASCADE`, []);
      return true;
    },
    close,
  };
}

/**
 * The SQL that creates the tables, or upgrades those that `agents` documents. Run it as an owner if the application's role may
 * not create tables; you may run it again. The application's role then needs USAGE on the schema, and SELECT, INSERT, UPDATE
 * and DELETE on the tables. With `embeddings` it includes the tables of `withEmbedder`. With `citus` it spreads the tables over the
 * servers of a cluster of Citus, by session; run it on the coordinator. Errors: `INVALID_ARGUMENT`.
 */
export function schemaSql(options: PostgresOptions & { embeddings?: boolean } = {}): string {
  SCHEMA_SQL.assert(options, "schemaSql()");
  const spread = options.citus === true ? SPREAD_TABLES : [];
  return printSchema(schemaOf(options), [...(options.embeddings === true ? VECTOR_TABLES : []), ...spread]);
}
