import { StemmaError } from "@stemma/model";
import { apart } from "../error.js";
import { type BareConnection, bareDriver, nestedDriver } from "./bare-connection.js";
import type { PostgresDriver } from "./column-types.js";
import {
  clientDriver,
  type PGliteShape,
  type PgClientShape,
  type PgPoolShape,
  pgliteDriver,
  poolDriver,
} from "./pg.js";
import { type PostgresJsShape, postgresJsDriver } from "./postgres-js.js";

/** A `Client` or `PoolClient` of pg, or an object whose `query(text, values)` runs a statement on one connection. */
export interface PgClientLike {
  query(...args: never[]): unknown;
}

/** One connection of any driver: runs a statement with `$1`, `$2`, … and gives its rows. */
export interface PostgresConnection {
  execute(
    query: string,
    values?: (string | number | boolean | null)[],
  ): PromiseLike<{ rows: Record<string, unknown>[] }>;
}

/** One connection to Postgres. */
export type PostgresClient = PostgresConnection | PgClientLike;

/** A `Pool` of pg. */
export interface PostgresPool extends PgClientLike {
  connect(...args: never[]): unknown;
  readonly totalCount: number;
}

/** The function that postgres.js or Bun.SQL gives, or a connection of it: one that was reserved, or a transaction. */
export interface PostgresJs {
  unsafe(...args: never[]): unknown;
}

/** A PGlite database. */
export interface PGliteDatabase extends PgClientLike {
  transaction(...args: never[]): unknown;
  exec(...args: never[]): unknown;
}

/** An object that holds a client, as a database of Drizzle does. */
export interface PostgresHandle {
  readonly $client: PostgresClient | PostgresPool | PostgresJs | PGliteDatabase;
}

/** A client that can stand behind a Postgres store. Its methods tell which one it is. */
export type PostgresSource = PostgresClient | PostgresPool | PostgresJs | PGliteDatabase | PostgresHandle;

/** The client that an object holds: a database of Drizzle as `$client`, a transaction of it in its session. Any other is itself. */
export function clientOf(source: PostgresSource): PostgresSource {
  const { $client, session } = (source ?? {}) as Partial<PostgresHandle> & { session?: { client?: PostgresSource } };
  return $client ?? (has(source, "execute") ? session?.client : undefined) ?? source;
}

/** The driver for a client, chosen by its shape. `prepare` as in `PostgresOptions`. Errors: `STORE_UNSUPPORTED`. */
export function postgresDriver(source: PostgresSource, prepare?: boolean): PostgresDriver {
  if (isOverHttp(source)) throw apart();
  if (has(source, "unsafe") && !isOtherDatabase(source)) {
    const sql = source as unknown as PostgresJsShape;
    const run: BareConnection["query"] = (text, values) => sql.unsafe(text, values, {});
    // What `sql.begin()` hands to its function, and what `sql.reserve()` gives.
    if (has(sql, "savepoint")) return nestedDriver(sql, run);
    if (has(sql, "release")) return bareDriver(sql, run);
    if (has(sql, "begin")) return postgresJsDriver(sql, prepare);
  }
  if (has(source, "query")) {
    if (has(source, "transaction") && has(source, "exec")) return pgliteDriver(source as unknown as PGliteShape);
    if (has(source, "connect") && "totalCount" in source) return poolDriver(source as unknown as PgPoolShape, prepare);
    if (isPgClient(source)) return clientDriver(source as unknown as PgClientShape, prepare);
    const { query } = source as unknown as BareConnection;
    return bareDriver(source, (text, values) => query.call(source, text, values));
  }
  if (has(source, "execute")) {
    const { execute } = source as unknown as Record<"execute", BareConnection["query"]>;
    return bareDriver(source, (text, values) => execute.call(source, text, values));
  }
  const message =
    "postgres() takes a URL, a client or pool of pg, a sql function of postgres.js or Bun.SQL, a PGlite database, a database of Drizzle, or a connection with execute(text, values) or query(text, values).";
  throw new StemmaError("STORE_UNSUPPORTED", {}, message);
}

// The function that `neon()` gives: it sends each statement by itself, and only a list of them as a transaction.
function isOverHttp(source: unknown): boolean {
  return typeof source === "function" && has(source, "transaction") && !has(source, "begin");
}

// A function of Bun.SQL may stand for MySQL or SQLite.
function isOtherDatabase(source: unknown): boolean {
  const { adapter = "postgres" } = (source as { options?: { adapter?: unknown } }).options ?? {};
  return adapter !== "postgres";
}

// Only pg's own clients take a statement with its parsers; others are called with a text and its values.
function isPgClient(source: unknown): boolean {
  return ["on", "escapeIdentifier", "release"].some((method) => has(source, method));
}

function has(source: unknown, method: string): boolean {
  if ((typeof source !== "object" && typeof source !== "function") || source === null) return false;
  return typeof (source as Record<string, unknown>)[method] === "function";
}

type Open = (url: string, prepare: boolean) => { source: PostgresSource; end: () => Promise<void> };

/**
 * A driver on a pool that is opened by its first call, with pg or else with postgres.js. The calls fail with
 * `DRIVER_MISSING` where neither is installed.
 */
export function openUrl(url: string, prepare = true): { driver: PostgresDriver; close: () => Promise<void> } {
  let opened: { readonly driver: PostgresDriver; readonly end: () => Promise<void> } | undefined;
  const open = (): PostgresDriver => {
    if (opened === undefined) {
      const { source, end } = findClient()(url, prepare);
      opened = { driver: postgresDriver(source, prepare), end };
    }
    return opened.driver;
  };
  return {
    driver: {
      reconnects: true,
      isPool: true,
      query: async (sql, values, isFrequent) => open().query(sql, values, isFrequent),
      transaction: async (characteristics, work) => open().transaction(characteristics, work),
    },
    close: async () => opened?.end(),
  };
}

function findClient(): Open {
  const failures: unknown[] = [];
  try {
    const { Pool } = load("pg") as { Pool: new (config: object) => PostgresSource & { end(): Promise<void> } };
    return (url) => {
      const pool = new Pool({ connectionString: url });
      return { source: pool, end: () => pool.end() };
    };
  } catch (error) {
    failures.push(error);
  }
  try {
    const connect = load("postgres") as (url: string, options: object) => PostgresSource & { end(): Promise<void> };
    return (url, prepare) => {
      // It would ask each new connection for types of arrays, which we read as text. Nobody catches what comes of a connection that ends then.
      const sql = connect(url, { prepare, fetch_types: false });
      return { source: sql, end: () => sql.end() };
    };
  } catch (error) {
    failures.push(error);
  }
  const message =
    "No client for Postgres: run `npm install pg` (or `npm install postgres`), or pass a client of yours.";
  throw new StemmaError("DRIVER_MISSING", {}, message, { cause: new AggregateError(failures) });
}

// No import(): bundlers would want to have the package, and those for workerd refuse a name that is no literal.
function load(name: string): unknown {
  const { createRequire } = process.getBuiltinModule("node:module");
  return createRequire(import.meta.url)(name);
}
