import { check, defineOptions, invalid } from "@stemma/model";
import type { EmbeddableStore, OpenStore } from "@stemma/store";
import { checkable, checkSettings, embeddable, redactedWith } from "@stemma/store";
import { postgresCheck } from "./check.js";
import { SPREAD_TABLES } from "./citus/spread.js";
import type { PostgresSource } from "./drivers/client.js";
import { openUrl } from "./drivers/url.js";
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

/**
 * Stores in the schemas of one database, on one pool, which `close` ends; closing a store leaves it open. No statement is kept
 * prepared: those of each schema are others, and a connection would keep them all. Errors of `open`: those of `postgres()`.
 */
export function postgresSchemas(url: string): { open(schema: string): EmbeddableStore; close(): Promise<void> } {
  const { driver, close } = openUrl(url, false);
  return { open: (schema) => storeOn(openPostgres(driver, { schema }), {}), close };
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
