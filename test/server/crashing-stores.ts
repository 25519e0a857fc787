import pg from "pg";
import { postgres } from "../../packages/postgres/src/postgres.js";
import { withEverything } from "../../packages/server/test/quick/with-everything.js";
import { sqlite } from "../../packages/store/src/sqlite.js";
import { openDatabase } from "../store/databases.js";
import { failingClient } from "../store/file-target.js";
import type { Serving, Statements } from "./crashing-servers.js";
import { serverFor } from "./remote-target.js";

/** Serves a file. */
export const servesFile =
  (path: string) =>
  ({ before, after }: Statements): Serving => {
    const database = openDatabase(path);
    return {
      serve: serverFor(sqlite(failingClient(database, before, after)), { sessions: withEverything }),
      end: () => void database.close(),
    };
  };

/** Serves a schema of a database. */
export const servesSchema =
  (url: string, schema: string) =>
  ({ before, after }: Statements): Serving => {
    const { pool, end } = tellingPool(url, async (_, run) => {
      before();
      const result = await run();
      after();
      return result;
    });
    return { serve: serverFor(postgres(pool, { schema }), { sessions: withEverything }), end };
  };

type Query = (...values: unknown[]) => Promise<unknown>;
type Client = Omit<pg.PoolClient, "query"> & {
  readonly query: Query;
  readonly processID: number;
  readonly connection: { readonly stream: { destroy(): void } };
};

/** Runs a statement on a connection. */
export type Around = <T>(client: Client, run: () => Promise<T>) => Promise<T>;

/** A pool whose every statement goes through `around`. At its end, its connections break as those of a process that is killed do. */
export function tellingPool(url: string, around: Around): { readonly pool: pg.Pool; readonly end: () => void } {
  const pool = new pg.Pool({ connectionString: url, max: 4 });
  const clients = new Set<Client>();
  pool.on("error", () => {});
  pool.on("connect", (client) => {
    client.on("error", () => {});
    clients.add(client as unknown as Client);
  });
  const telling = (client: Client): Client =>
    new Proxy(client, {
      get: (target, name) => {
        const value = Reflect.get(target, name, target);
        if (name === "query") return ((...values) => around(target, () => target.query(...values))) satisfies Query;
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  const connect = async () => telling((await pool.connect()) as unknown as Client);
  const query: Query = async (...values) => {
    const client = await connect();
    let isBroken = true;
    try {
      const result = await client.query(...values);
      isBroken = false;
      return result;
    } finally {
      client.release(isBroken);
    }
  };
  return {
    pool: new Proxy(pool, {
      get: (target, name) => {
        if (name === "connect") return connect;
        if (name === "query") return query;
        const value = Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    }),
    end: () => {
      for (const { connection } of clients) connection.stream.destroy();
      clients.clear();
      if (!pool.ending) void pool.end();
    },
  };
}
