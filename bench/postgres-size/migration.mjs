// npm run build && node bench/postgres-size/migration.mjs [--messages 100000]
//
// How long version 11 of the tables takes, which names the session of each row: a store of so many messages in sessions of
// ten is made what version 10 left, and migrated.
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import pg from "pg";
import { postgres } from "../../dist/postgres.js";
import { startServer } from "../postgres-server.mjs";
import { load } from "./operations.mjs";

const { values } = parseArgs({ options: { messages: { type: "string", default: "100000" } } });
const messages = Number(values.messages);
const unnamed = readFileSync(new URL("../../test/fixtures/unnamed-sessions.postgres.sql", import.meta.url), "utf8");

const server = await startServer([]);
const pool = new pg.Pool({ connectionString: server.url, max: 4 });
try {
  await load(postgres(pool), messages);
  await pool.query(unnamed);
  await pool.query("CHECKPOINT");
  const before = performance.now();
  const store = postgres(pool);
  await store.migrate();
  const seconds = (performance.now() - before) / 1000;
  const perMillion = (seconds * 1e6) / messages;
  console.log(`version 11: ${messages} messages in ${seconds.toFixed(1)} s, ${perMillion.toFixed(0)} s per million`);
} finally {
  await pool.end();
  await server.stop();
}
