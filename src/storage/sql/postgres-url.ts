import { StemmaError } from "../../errors.js";
import { type PostgresDriver, type PostgresSource, postgresDriver } from "./postgres-client.js";

type Open = (url: string) => { source: PostgresSource; end: () => Promise<void> };

/**
 * A driver on a pool that is opened by its first call, with pg or else with postgres.js. The calls fail with
 * `DRIVER_MISSING` where neither is installed.
 */
export function openUrl(url: string): { driver: PostgresDriver; close: () => Promise<void> } {
  let opened: Promise<{ driver: PostgresDriver; end: () => Promise<void> }> | undefined;
  const open = () => {
    opened ??= findClient().then((openClient) => {
      const { source, end } = openClient(url);
      return { driver: postgresDriver(source), end };
    });
    return opened;
  };
  return {
    driver: {
      reconnects: true,
      query: async (sql, values) => (await open()).driver.query(sql, values),
      transaction: async (characteristics, work) => (await open()).driver.transaction(characteristics, work),
    },
    close: async () => {
      if (opened === undefined) return;
      const [result] = await Promise.allSettled([opened]);
      if (result.status === "fulfilled") await result.value.end();
    },
  };
}

async function findClient(): Promise<Open> {
  const failures: unknown[] = [];
  try {
    const { Pool } = (await load("pg")) as { Pool: new (config: object) => PostgresSource & { end(): Promise<void> } };
    return (url) => {
      const pool = new Pool({ connectionString: url });
      return { source: pool, end: () => pool.end() };
    };
  } catch (error) {
    failures.push(error);
  }
  try {
    const connect = (await load("postgres")) as (url: string) => PostgresSource & { end(): Promise<void> };
    return (url) => {
      const sql = connect(url);
      return { source: sql, end: () => sql.end() };
    };
  } catch (error) {
    failures.push(error);
  }
  const message =
    "No client for Postgres: run `npm install pg` (or `npm install postgres`), or pass a client of yours.";
  throw new StemmaError("DRIVER_MISSING", {}, message, { cause: new AggregateError(failures) });
}

// The name is no literal: a bundler would otherwise want to have the package.
async function load(name: string): Promise<unknown> {
  const module = (await import(/* @vite-ignore */ name)) as { default?: unknown };
  return module.default ?? module;
}
