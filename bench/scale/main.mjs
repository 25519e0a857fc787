// npm run bench -- scale [--sqlite 1000,10000] [--postgres 1000,10000] [--copy-above 1000000] [--rounds 21] [--folder <kept>] [--publish]
//
// What a call takes as a store grows. Every size is open at once and all are measured in turn, so that what else the machine
// does is in all of them. With `--folder` the files of SQLite are kept there, and one that was not filled is filled further.
// On Postgres so many messages are appended at most; the sessions of a larger store are copied from those inside the database.
// --publish puts the table and the plot where docs/background/scaling.md shows them.
import { mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import pg from "pg";
import { postgres } from "../../packages/stemma/dist/postgres.js";
import { sqlite } from "../../packages/stemma/dist/sqlite.js";
import { startServer } from "../postgres-server.mjs";
import { copySessions } from "./copy.mjs";
import { load, operationsOf, SESSION } from "./operations.mjs";
import { report } from "./report.mjs";
import { verifyCopies } from "./verify-copies.mjs";

const { values } = parseArgs({
  options: {
    sqlite: { type: "string", default: "1000,10000,100000,1000000" },
    postgres: { type: "string", default: "1000,10000,100000" },
    "copy-above": { type: "string", default: "1000000" },
    rounds: { type: "string", default: "21" },
    folder: { type: "string" },
    publish: { type: "boolean", default: false },
  },
});
const sizesOf = (list) => list.split(",").filter(Boolean).map(Number);
const rounds = Number(values.rounds);
const folder = values.folder ?? mkdtempSync(join(tmpdir(), "stemma-bench-scale-"));
mkdirSync(folder, { recursive: true });
const curves = [];
try {
  curves.push(...(await curveOf("SQLite", await sqliteStores(sizesOf(values.sqlite)))));
  if (values.postgres !== "") await measurePostgres(sizesOf(values.postgres));
  report(curves, values.publish);
} finally {
  if (values.folder === undefined) rmSync(folder, { recursive: true, force: true });
}

async function sqliteStores(sizes) {
  const stores = [];
  for (const size of sizes) {
    const path = join(folder, `${size}.db`);
    // Filled with fewer syncs; what is measured has them all.
    const filled = sqlite(path, { synchronous: "normal" });
    await fill("SQLite", filled, size);
    await filled.close();
    const open = () => sqlite(path);
    stores.push({ size, open, store: open(), bytes: statSync(path).size });
  }
  return stores;
}

async function measurePostgres(sizes) {
  const server = await startServer();
  const admin = new pg.Client(server.url);
  await admin.connect();
  const pools = [];
  try {
    const stores = [];
    for (const size of sizes) {
      const name = `scale_${size}`;
      await admin.query(`CREATE DATABASE ${name}`);
      const url = new URL(server.url);
      url.pathname = `/${name}`;
      const pool = new pg.Pool({ connectionString: url.href, max: 2 });
      pools.push(pool);
      const open = () => postgres(pool);
      const store = open();
      const appended = Math.min(size, Number(values["copy-above"]));
      await fill("Postgres", store, appended);
      if (size > appended) await copy(pool, store, appended / SESSION, size / SESSION);
      const [{ bytes }] = (await pool.query("SELECT pg_database_size(current_database()) AS bytes")).rows;
      stores.push({ size, open, store, bytes: Number(bytes) });
    }
    await admin.query("CHECKPOINT");
    curves.push(...(await curveOf("Postgres", stores)));
  } finally {
    for (const pool of pools) await pool.end();
    await admin.end();
    await server.stop();
  }
}

async function fill(name, store, size) {
  const start = performance.now();
  const memory = [];
  await load(store, size, () => memory.push(process.memoryUsage().rss));
  // The first tenths fill caches; a store that was kept needs none.
  const full = memory.slice(2);
  if (full.length === 0) return;
  const seconds = ((performance.now() - start) / 1000).toFixed(0);
  const [least, most] = [Math.min, Math.max].map((of) => (of(...full) / 1e6).toFixed(0));
  console.log(`${name}: ${size.toLocaleString("en")} messages in ${seconds} s; the process took ${least}–${most} MB`);
}

async function copy(pool, store, count, total) {
  const start = performance.now();
  await copySessions(pool, count, total);
  const copied = performance.now();
  await verifyCopies(store, count, total);
  const [seconds, more] = [copied - start, performance.now() - copied].map((time) => (time / 1000).toFixed(0));
  console.log(
    `Postgres: ${total.toLocaleString("en")} sessions, copied in ${seconds} s; a sample checked in ${more} s`,
  );
}

/** The median of each call at each size, in milliseconds. */
async function curveOf(name, stores) {
  const operations = stores.map(operationsOf);
  const found = [];
  for (const work of Object.keys(operations[0] ?? {})) {
    const times = stores.map(() => []);
    for (let round = -2; round < rounds; round += 1) {
      for (let turn = 0; turn < stores.length; turn += 1) {
        // Another one goes first each time.
        const index = (turn + round + 2) % stores.length;
        const start = performance.now();
        await operations[index][work]();
        // The first ones warm up.
        if (round >= 0) times[index].push(performance.now() - start);
      }
    }
    const points = stores.map(({ size, bytes }, index) => ({ size, bytes, ...spreadOf(times[index]) }));
    found.push({ store: name, work, points });
  }
  for (const { store } of stores) await store.close();
  return found;
}

function spreadOf(times) {
  const sorted = times.sort((a, b) => a - b);
  const at = (share) => sorted[Math.floor(share * (sorted.length - 1))];
  return { median: at(0.5), quartiles: [at(0.25), at(0.75)] };
}
