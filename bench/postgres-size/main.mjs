// npm run bench:postgres-size -- [--messages 1000,100000] [--rounds 15] [--postgres <url>] [--publish]
//
// What calls take on Postgres at several sizes, before and after ANALYZE, beside SQLite and beside a bare query. The server is
// one that npm brings, without autovacuum, so that nobody gathers statistics meanwhile. One at `--postgres` keeps what was
// loaded in databases `stemma_size_…`, and is asked for those first. --publish puts the table where docs/stores/postgres.md shows it.
import { mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import pg from "pg";
import { postgres } from "../../dist/postgres.js";
import { sqlite } from "../../dist/sqlite.js";
import { startServer } from "../postgres-server.mjs";
import { replaceSection } from "../publish.mjs";
import { machine } from "../report.mjs";
import { bareQueries } from "./bare.mjs";
import { load, operationsOf } from "./operations.mjs";
import { tableOf } from "./table.mjs";

const { values } = parseArgs({
  options: {
    messages: { type: "string", default: "1000,100000" },
    rounds: { type: "string", default: "15" },
    postgres: { type: "string" },
    only: { type: "string", default: "" },
    publish: { type: "boolean", default: false },
  },
});
const rounds = Number(values.rounds);
const sizes = values.messages.split(",").map(Number);

const folder = mkdtempSync(join(tmpdir(), "stemma-bench-size-"));
const server =
  values.postgres === undefined
    ? await startServer(["-c", "autovacuum=off"])
    : { url: values.postgres, stop: async () => {} };
const admin = new pg.Client(server.url);
await admin.connect();
try {
  const figures = [];
  for (const size of sizes) figures.push(await measureSize(size));
  const { date, node, cpu } = machine();
  const made = `Medians of ${rounds} rounds on ${date}: Node ${node}, ${cpu}, load ${loadavg()[0].toFixed(1)} at the end.`;
  const table = tableOf(sizes, figures);
  console.log(`\n${table}\n\n${made}`);
  if (values.publish) replaceSection("docs/stores/postgres.md", "size", [table, made]);
} finally {
  await admin.end();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}

async function measureSize(size) {
  const name = `stemma_size_${size}`;
  const known = await admin.query("SELECT FROM pg_database WHERE datname = $1", [name]);
  if (known.rowCount === 0) await loadPostgres(name, size);
  const copy = `${name}_copy`;
  await admin.query(`DROP DATABASE IF EXISTS ${copy}`);
  await admin.query(`CREATE DATABASE ${copy} TEMPLATE ${name}`);
  const pool = new pg.Pool({ connectionString: urlOf(copy), max: 4 });
  const store = postgres(pool);
  const figures = { bare: await bareQueries(pool, timed) };
  figures.fresh = await measure(store);
  await pool.query("ANALYZE");
  figures.analyzed = await measure(store);
  await store.close();
  await pool.end();
  await admin.query(`DROP DATABASE ${copy}`);
  const path = join(folder, `${size}.db`);
  const file = sqlite(path);
  await timedLoad(`SQLite, ${size} messages`, () => load(file, size));
  figures.sqlite = await measure(file);
  await file.close();
  rmSync(path);
  return figures;
}

async function loadPostgres(name, size) {
  await admin.query(`CREATE DATABASE ${name}`);
  const pool = new pg.Pool({ connectionString: urlOf(name), max: 4 });
  const store = postgres(pool);
  await timedLoad(`Postgres, ${size} messages`, () => load(store, size));
  await store.close();
  await pool.end();
  await admin.query("CHECKPOINT");
}

async function timedLoad(what, work) {
  const start = performance.now();
  await work();
  console.log(`${what} loaded in ${((performance.now() - start) / 1000).toFixed(0)} s`);
}

/** The median of each operation, in milliseconds. */
async function measure(store) {
  const medians = {};
  for (const [name, operation] of Object.entries(operationsOf(store))) {
    if (name.includes(values.only)) medians[name] = await timed(operation);
  }
  return medians;
}

async function timed({ prepare, run, undo }) {
  const times = [];
  for (let round = -2; round < rounds; round += 1) {
    const prepared = await prepare?.();
    const start = performance.now();
    const result = await run(prepared);
    // The first ones warm up.
    if (round >= 0) times.push(performance.now() - start);
    await undo?.(result);
  }
  return times.sort((a, b) => a - b)[Math.floor(times.length / 2)];
}

function urlOf(database) {
  const url = new URL(server.url);
  url.pathname = `/${database}`;
  return url.href;
}
