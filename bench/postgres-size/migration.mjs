// node scripts/build.mjs && node bench/postgres-size/migration.mjs [--messages 100000]
//
// How long an upgrade takes from version 10 of the tables on. Version 11 names the session of each row, version 16 makes indexes.
// A store of so many messages in sessions of ten is made what version 10 left, and migrated.
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import pg from "pg";
import { postgres, schemaSql } from "../../packages/stemma/dist/postgres.js";
import { startServer } from "../postgres-server.mjs";
import { load } from "./operations.mjs";

const { values } = parseArgs({ options: { messages: { type: "string", default: "100000" } } });
const messages = Number(values.messages);
const fixture = (name) => readFileSync(new URL(`../../test/fixtures/${name}.postgres.sql`, import.meta.url), "utf8");

const server = await startServer([]);
const pool = new pg.Pool({ connectionString: server.url, max: 4 });
try {
  await load(postgres(pool), messages);
  // The tables of vectors stay empty. Each session has a number of its own until version 16.
  await pool.query(schemaSql({ embeddings: true }));
  await pool.query(fixture("numbered-sessions"));
  await postgres(pool).migrate();
  await pool.query(fixture("unnamed-sessions"));
  await pool.query("CHECKPOINT");
  const before = performance.now();
  const store = postgres(pool);
  await store.migrate();
  const seconds = (performance.now() - before) / 1000;
  const perMillion = (seconds * 1e6) / messages;
  console.log(
    `version 10 to the present one: ${messages} messages in ${seconds.toFixed(1)} s, ${perMillion.toFixed(0)} s per million`,
  );
} finally {
  await pool.end();
  await server.stop();
}
