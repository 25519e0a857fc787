// npm run bench -- postgres-size [--messages 1000,100000] [--rounds 15] [--postgres <url>] [--publish]
//
// What calls take on Postgres at several sizes, before and after ANALYZE, beside SQLite and beside a bare query, in turn. The server
// is one that npm brings, without autovacuum, so that nobody gathers statistics meanwhile. One at `--postgres` keeps what was
// loaded in databases `stemma_size_…`, and is asked for those first. --publish puts the table where docs/background/postgres.md shows it.
import { mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import pg from "pg";
import { postgres } from "../../packages/stemma/dist/postgres.js";
import { sqlite } from "../../packages/stemma/dist/sqlite.js";
import { startServer } from "../postgres-server.mjs";
import { replaceSection } from "../publish.mjs";
import { machine } from "../report.mjs";
import { bareOperations } from "./bare.mjs";
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
  if (values.publish) replaceSection("docs/background/postgres.md", "size", [table, made]);
} finally {
  await admin.end();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}

async function measureSize(size) {
  const name = `stemma_size_${size}`;
  const known = await admin.query("SELECT FROM pg_database WHERE datname = $1", [name]);
  if (known.rowCount === 0) await loadPostgres(name, size);
  const [fresh, analyzed] = [await openCopy(name, "fresh"), await openCopy(name, "analyzed")];
  await analyzed.pool.query("ANALYZE");
  const path = join(folder, `${size}.db`);
  const file = sqlite(path);
  await timedLoad(`SQLite, ${size} messages`, () => load(file, size));
  const bare = await fresh.pool.connect();
  const medians = await measureInPieces({
    fresh: operationsOf(fresh.store, size),
    analyzed: operationsOf(analyzed.store, size),
    sqlite: operationsOf(file, size),
    bare: await bareOperations(bare, size),
  });
  bare.release(true);
  for (const copy of [fresh, analyzed]) await copy.close();
  await file.close();
  rmSync(path);
  return medians;
}

/** A copy of a database, which is gone when it is closed. */
async function openCopy(name, what) {
  const copy = `${name}_${what}`;
  await admin.query(`DROP DATABASE IF EXISTS ${copy}`);
  await admin.query(`CREATE DATABASE ${copy} TEMPLATE ${name}`);
  const pool = new pg.Pool({ connectionString: urlOf(copy), max: 4 });
  const store = postgres(pool);
  const close = async () => {
    await store.close();
    await pool.end();
    await admin.query(`DROP DATABASE ${copy}`);
  };
  return { pool, store, close };
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

/**
 * The median of each operation by side, in milliseconds. A round is all operations on all sides, so that whatever else the machine
 * does meets them alike; the first rounds warm up.
 */
async function measureInPieces(sides) {
  const times = Object.fromEntries(Object.keys(sides).map((side) => [side, {}]));
  const names = Object.keys(sides.fresh).filter((name) => name.includes(values.only));
  for (let round = -2; round < rounds; round += 1) {
    for (const name of names) {
      for (const [side, operations] of Object.entries(sides)) {
        if (operations[name] === undefined) continue;
        const time = await timeOf(operations[name]);
        times[side][name] ??= [];
        if (round >= 0) times[side][name].push(time);
      }
    }
  }
  const medianOf = (list) => list.sort((a, b) => a - b)[Math.floor(list.length / 2)];
  return Object.fromEntries(
    Object.entries(times).map(([side, lists]) => [
      side,
      Object.fromEntries(Object.entries(lists).map(([name, list]) => [name, medianOf(list)])),
    ]),
  );
}

async function timeOf({ prepare, run, undo }) {
  const prepared = await prepare?.();
  const start = performance.now();
  const result = await run(prepared);
  const time = performance.now() - start;
  await undo?.(result);
  return time;
}

function urlOf(database) {
  const url = new URL(server.url);
  url.pathname = `/${database}`;
  return url.href;
}
