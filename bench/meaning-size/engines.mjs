// The stores that are measured, by name. Each is opened as a user opens it by default, on a folder or a server's URL.
import { join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { vector } from "@electric-sql/pglite-pgvector";
import pg from "pg";
import * as sqliteVec from "sqlite-vec";
import { postgres } from "../../packages/stemma/dist/postgres.js";
import { sqlite } from "../../packages/stemma/dist/sqlite.js";
import { openDatabase } from "../database.mjs";

/** Each gives the store, its `size()` in bytes and `end()`, which closes what the store was opened on; `received()`, the bytes that a server sent. */
export const ENGINES = {
  SQLite: ({ folder }) => openFile(join(folder, "plain.db"), () => {}),
  "SQLite with sqlite-vec": ({ folder }) => openFile(join(folder, "vec.db"), sqliteVec.load),
  "Postgres without pgvector": openServer,
  "PGlite with pgvector": openPglite,
};

function openFile(path, extend) {
  const db = openDatabase(path);
  db.pragma("synchronous = FULL");
  extend(db);
  const store = sqlite(db);
  const size = () => db.pragma("page_count", { simple: true }) * db.pragma("page_size", { simple: true });
  return {
    store,
    size,
    end: () => db.close(),
  };
}

const SIZE = "SELECT pg_database_size(current_database())::float8 AS bytes";

async function openServer({ url }) {
  const client = new pg.Client(url);
  await client.connect();
  const store = postgres(client);
  return {
    store,
    size: async () => (await client.query(SIZE)).rows[0].bytes,
    received: () => client.connection.stream.bytesRead,
    end: () => client.end(),
  };
}

async function openPglite({ folder }) {
  const db = await PGlite.create(join(folder, "pglite"), { extensions: { vector } });
  await db.exec("CREATE EXTENSION vector");
  const store = postgres(db);
  return {
    store,
    size: async () => (await db.query(SIZE)).rows[0].bytes,
    end: () => db.close(),
  };
}
