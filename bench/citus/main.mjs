// npm run bench -- citus <url of a coordinator> <url of a Postgres without Citus> [--messages 10000] [--rounds 15]
// [--seconds 5] [--shards 32]
//
// What calls take where rows are spread over a cluster by session, and in a schema on one worker, beside the tables of plain Postgres.
// The three take turns, call by call. Each database gets a schema of its own, which is removed at the end.
import { randomUUID } from "node:crypto";
import { parseArgs } from "node:util";
import pg from "pg";
import { postgres } from "../../packages/stemma/dist/postgres.js";
import { SessionManager } from "../../packages/stemma/dist/session.js";
import { show } from "../cells.mjs";
import { appendAtOnce, median } from "../clients/at-once.mjs";
import { sessionOf } from "../postgres-size/corpus.mjs";
import { load, operationsOf } from "../postgres-size/operations.mjs";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    messages: { type: "string", default: "10000" },
    rounds: { type: "string", default: "15" },
    seconds: { type: "string", default: "5" },
    shards: { type: "string", default: "32" },
  },
});
const [cluster, plain] = positionals;
if (plain === undefined)
  throw new TypeError("npm run bench -- citus <url of a coordinator> <url of a Postgres without Citus>");
const [messages, rounds, seconds] = [values.messages, values.rounds, values.seconds].map(Number);
const CLIENTS = 16;

const schema = `bench_${randomUUID().slice(0, 8)}`;
const sides = {
  "plain Postgres": await open(plain, schema, {}),
  "a schema on a worker": await open(cluster, `${schema}_tenant`, {
    settings: "-c citus.enable_schema_based_sharding=on",
  }),
  "rows by session": await open(cluster, `${schema}_rows`, {
    citus: true,
    settings: `-c citus.shard_count=${values.shards}`,
  }),
};
try {
  for (const side of Object.values(sides)) await fill(side);
  const medians = {};
  for (const [name, times] of Object.entries(await timeAll())) medians[name] = times.map(median);
  medians[`append of ${CLIENTS} clients`] = (await timeMany()).map(median);
  printTable(medians);
} finally {
  for (const side of Object.values(sides)) await side.close();
}

async function open(url, name, { citus = false, settings = "" }) {
  const pool = new pg.Pool({ connectionString: url, max: CLIENTS, options: settings });
  const store = postgres(pool, { schema: name, citus });
  await store.migrate();
  const close = async () => {
    await store.close();
    await pool.query(`DROP SCHEMA "${name}" CASCADE`);
    await pool.end();
  };
  return { store, pool, name, close };
}

async function fill({ store, pool, name }) {
  await load(store, messages);
  await SessionManager.create(store).appendAll("thousand", manyOf("thousand", 1_000));
  const tables = await pool.query(
    "SELECT relname FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind = 'r'",
    [name],
  );
  for (const { relname } of tables.rows) await pool.query(`ANALYZE "${name}".${relname}`);
}

function manyOf(prefix, count) {
  const sessions = Array.from({ length: count / 10 }, (_, index) => sessionOf(index));
  return sessions.flat().map((message, index) => ({ ...message, id: `${prefix}${index}` }));
}

/** The times of each call, a list for each side. */
async function timeAll() {
  const found = {};
  const calls = Object.values(sides).map(({ store }) => {
    const manager = SessionManager.create(store);
    const forget = ({ id }) => manager.delete(id);
    return {
      ...operationsOf(store),
      "open 1,000 messages": { run: () => manager.getSession("thousand").getHistory() },
      "append of 100 messages": {
        prepare: () => manager.create("batch"),
        run: async ({ id }) => {
          await manager.appendAll(id, manyOf("m", 100));
          return { id };
        },
        undo: forget,
      },
    };
  });
  for (const name of Object.keys(calls[0])) {
    found[name] = calls.map(() => []);
    for (let round = -2; round < rounds; round += 1) {
      for (const [index, { [name]: call }] of calls.entries()) {
        const prepared = await call.prepare?.();
        const start = performance.now();
        const result = await call.run(prepared);
        // The first ones warm up.
        if (round >= 0) found[name][index].push(performance.now() - start);
        await call.undo?.(result);
      }
    }
  }
  return found;
}

/** Milliseconds for each append of many clients, which is what their rate says. */
async function timeMany() {
  const found = Object.values(sides).map(() => []);
  for (let round = 0; round < 3; round += 1) {
    for (const [index, { store }] of Object.values(sides).entries()) {
      const manager = SessionManager.create(store);
      const append = (id, message) => manager.append(id, message);
      const load = { clients: CLIENTS, sessions: messages / 10, seconds, name: `round${round}` };
      found[index].push(1_000 / (await appendAtOnce(append, load)).rate);
    }
  }
  return found;
}

function printTable(medians) {
  const names = Object.keys(sides);
  console.log(
    `| Milliseconds, medians | ${names[0]} | ${names
      .slice(1)
      .map((name) => `${name} | ratio`)
      .join(" | ")} |`,
  );
  console.log(
    `| --- | ${names
      .slice(1)
      .map(() => "--: | --:")
      .join(" | ")} | --: |`,
  );
  for (const [name, [first, ...others]] of Object.entries(medians)) {
    const cells = others.flatMap((time) => [show(time, ""), show(time / first, "×")]);
    console.log(`| ${[name, show(first, ""), ...cells].join(" | ")} |`);
  }
}
