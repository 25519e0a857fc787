import { join } from "node:path";
import pg from "pg";
import { postgres } from "../../packages/postgres/src/postgres.js";
import type { Store } from "../../packages/store/src/contract/store.js";
import { memory } from "../../packages/store/src/memory.js";
import { sqlite } from "../../packages/store/src/sqlite.js";

export const MEMORY = ":memory:";

/** The store at a place: a path, the URL of a database, or `:memory:`. Not `full`: where power matters, the row says so. */
export function openStore(place: string): Store {
  if (place === MEMORY) return memory();
  if (place.startsWith("postgres:")) return postgres(place);
  return sqlite(place, { synchronous: "normal", busyTimeout: 30_000 });
}

let places = 0;

/** A place where nothing is stored yet. */
export async function newPlace(engine: string, folder: string, server: string): Promise<string> {
  places += 1;
  if (engine === "memory") return MEMORY;
  if (engine !== "Postgres") return join(folder, `place-${places}.db`);
  const name = `reliability_${process.pid}_${places}`;
  await query(server, `CREATE DATABASE ${name}`);
  return server.replace(/\/[^/]*$/, `/${name}`);
}

/** Runs SQL on a Postgres database. */
export async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query(sql)).rows ?? [];
  } finally {
    await client.end();
  }
}
