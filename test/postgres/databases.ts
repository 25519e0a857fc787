import pg from "pg";
import postgresJs from "postgres";
import type { PostgresSource } from "../../packages/postgres/src/postgres.js";
import type { TestDatabase } from "./target.js";

/** Is told of a statement before it goes out; what it throws is the statement's error. */
export type Before = (statement: string) => void;

export interface OpenDatabase extends TestDatabase {
  close(): Promise<void>;
}

/** A pool of pg. */
export function openPool(url: string): OpenDatabase {
  const pool = new pg.Pool({ connectionString: url });
  const failingClient = (client: pg.PoolClient, before: Before) => intercept(client, before, ["query"]);
  return {
    source: pool,
    failing: (before) =>
      new Proxy(pool, {
        get: (target, name) => {
          if (name === "connect") return async () => failingClient(await target.connect(), before);
          return intercepted(target, name, before, ["query"]);
        },
      }),
    query: async (sql) => (await pool.query(sql)).rows,
    close: () => pool.end(),
  };
}

/** One connection of pg. */
export async function openClient(url: string): Promise<OpenDatabase> {
  const client = new pg.Client(url);
  await client.connect();
  return {
    source: client,
    failing: (before) => intercept(client, before, ["query"]),
    query: async (sql) => (await client.query(sql)).rows,
    close: () => client.end(),
  };
}

/** A connection that a program wrapped by itself: an object with one method, which takes a text and its values. */
export function openWrapped(method: "execute" | "query") {
  return async (url: string): Promise<OpenDatabase> => {
    const client = new pg.Client(url);
    await client.connect();
    // Values come as pg parses them, and nothing but rows.
    const wrap = (before: Before) => ({
      [method]: async (text: string, values: unknown[]) => {
        before(text);
        return { rows: (await client.query(text, values)).rows };
      },
    });
    return {
      source: wrap(() => {}) as unknown as PostgresSource,
      failing: (before) => wrap(before) as unknown as PostgresSource,
      query: async (sql) => (await client.query(sql)).rows,
      close: () => client.end(),
    };
  };
}

/** The function of postgres.js. */
export function openPostgresJs(url: string, options: { prepare?: boolean } = {}): OpenDatabase {
  const sql = postgresJs(url, { onnotice: () => {}, ...options });
  const wrap = <T extends object>(target: T, before: Before): T =>
    new Proxy(target, {
      get: (inner, name) => {
        if (name !== "begin") return intercepted(inner, name, before, ["unsafe"]);
        // It begins and ends the transaction by itself.
        return async (characteristics: string, work: (connection: object) => Promise<unknown>) => {
          before(`BEGIN ${characteristics}`);
          return sql.begin(characteristics, async (connection) => {
            const result = await work(wrap(connection, before));
            before("COMMIT");
            return result;
          });
        };
      },
    });
  return {
    source: sql,
    failing: (before) => wrap(sql, before) as PostgresSource,
    query: async (text) => [...(await sql.unsafe(text))],
    close: () => sql.end(),
  };
}

/** A client whose methods tell of each statement before it goes out. */
export function intercept<T extends object>(target: T, before: Before, methods: readonly string[]): T {
  return new Proxy(target, { get: (inner, name) => intercepted(inner, name, before, methods) });
}

/** A property of such a client. */
export function intercepted(
  target: object,
  name: string | symbol,
  before: Before,
  methods: readonly string[],
): unknown {
  const value = Reflect.get(target, name, target);
  if (typeof value !== "function") return value;
  if (!methods.includes(String(name))) return value.bind(target);
  return (...values: unknown[]) => {
    before(textOf(values[0]));
    return value.apply(target, values);
  };
}

function textOf(query: unknown): string {
  return typeof query === "string" ? query : (query as { text: string }).text;
}
