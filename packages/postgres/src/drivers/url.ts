import { StemmaError } from "@stemma/model";
import { type PostgresSource, postgresDriver } from "./client.js";
import type { PostgresDriver } from "./column-types.js";

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
