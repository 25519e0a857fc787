// npm run bench -- checkpoints [--steps 1000,10000] [--growing 1000]
//
// Checkpoints of LangGraph on StemmaSaver, SqliteSaver and PostgresSaver: milliseconds per step, and bytes on disk. Each step
// puts one message, as a pending write and then in a checkpoint. All savers take turns, a few steps each.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import pg from "pg";
import { StemmaSaver } from "../../packages/stemma/dist/langgraph.js";
import { postgres } from "../../packages/stemma/dist/postgres.js";
import { sqlite } from "../../packages/stemma/dist/sqlite.js";
import { openDatabase } from "../database.mjs";
import { startServer } from "../postgres-server.mjs";

const { values } = parseArgs({
  options: { steps: { type: "string", default: "1000,10000" }, growing: { type: "string", default: "1000" } },
});
const TURN = 25;
const WINDOW = 20;
const TEXT =
  "What one says in a conversation has about so many characters, sometimes fewer and sometimes more. ".repeat(2);

const folder = mkdtempSync(join(tmpdir(), "stemma-bench-checkpoints-"));
const server = await startServer();
const admin = new pg.Client(server.url);
await admin.connect();
try {
  const rows = [];
  for (const steps of values.steps.split(",").map(Number)) {
    rows.push(...(await compare(`state of the last ${WINDOW} messages`, steps, WINDOW)));
  }
  rows.push(...(await compare("state of all messages", Number(values.growing), Number.POSITIVE_INFINITY)));
  console.table(rows);
} finally {
  await admin.end();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}

async function compare(workload, steps, window) {
  const savers = [
    ...sqliteSavers(`${steps}-${window}`),
    ...(await postgresSavers(`b${steps}_${Number.isFinite(window) ? "window" : "all"}`)),
  ];
  const runs = savers.map((saver) => ({ ...saver, config: thread(), messages: [], ms: 0, put: 0 }));
  for (let from = 0; from < steps; from += TURN) {
    for (let turn = 0; turn < runs.length; turn += 1) {
      const run = runs[(turn + from / TURN) % runs.length];
      const start = performance.now();
      for (let step = from; step < from + TURN; step += 1) await takeStep(run, step, window);
      run.ms += performance.now() - start;
    }
  }
  const rows = [];
  for (const { name, ms, size, close, saver, config, messages } of runs) {
    const found = await saver.get(config);
    if (found.channel_values.messages.length !== messages.length) throw new Error(`${name} lost messages`);
    rows.push({
      workload,
      steps,
      saver: name,
      "ms per step": +(ms / steps).toFixed(2),
      MB: +((await size()) / 1e6).toFixed(1),
    });
    await close();
  }
  return rows;
}

async function takeStep(run, step, window) {
  const message =
    step % 2 === 0
      ? new HumanMessage({ id: `m${step}`, content: TEXT })
      : new AIMessage({ id: `m${step}`, content: TEXT });
  if (step > 0)
    await run.saver.putWrites(run.config, [["messages", [message]]], `task-${step}`, "~__pregel_pull, model");
  run.messages = [...run.messages, message].slice(-window);
  const versions = { __start__: 2, messages: step + 2, "branch:to:model": step + 2 };
  const checkpoint = {
    ...emptyCheckpoint(),
    id: uuid6(step),
    channel_values: { messages: run.messages, topic: "a short text" },
    channel_versions: { ...versions, topic: 1 },
    versions_seen: { __input__: {}, __start__: { __start__: 1 }, model: { "branch:to:model": step + 1 } },
  };
  const changed = { messages: step + 2, "branch:to:model": step + 2, ...(step === 0 ? { topic: 1 } : {}) };
  run.config = await run.saver.put(run.config, checkpoint, { source: "loop", step, parents: {} }, changed);
}

function thread() {
  return { configurable: { thread_id: "5a6c3f0e-3d52-4a0e-8f6e-1f2f0c9d7b11", checkpoint_ns: "" } };
}

function sqliteSavers(name) {
  const open = (suffix, saverOf) => {
    const db = openDatabase(join(folder, `${name}-${suffix}.db`));
    const size = () => {
      db.pragma("wal_checkpoint(TRUNCATE)");
      return db.pragma("page_count", { simple: true }) * db.pragma("page_size", { simple: true });
    };
    return { name: suffix, saver: saverOf(db), size, close: () => db.close() };
  };
  return [
    open("SqliteSaver", (db) => new SqliteSaver(db)),
    open("StemmaSaver on SQLite", (db) => new StemmaSaver(sqlite(db))),
    open("the same, messages: false", (db) => new StemmaSaver(sqlite(db), { messages: false })),
    open("the same, keep: 20", (db) => new StemmaSaver(sqlite(db), { keep: 20 })),
  ];
}

async function postgresSavers(name) {
  const open = async (title, suffix, saverOf) => {
    const database = `${name}_${suffix}`;
    await admin.query(`CREATE DATABASE ${database}`);
    const sizeOf = async () =>
      Number((await admin.query("SELECT pg_database_size($1) AS size", [database])).rows[0].size);
    const empty = await sizeOf();
    const pool = new pg.Pool({ connectionString: server.url.replace(/postgres$/, database) });
    const saver = await saverOf(pool);
    return { name: title, saver, size: async () => (await sizeOf()) - empty, close: () => pool.end() };
  };
  return [
    await open("PostgresSaver", "theirs", async (pool) => {
      const saver = new PostgresSaver(pool);
      await saver.setup();
      return saver;
    }),
    await open("StemmaSaver on Postgres", "ours", (pool) => new StemmaSaver(postgres(pool))),
  ];
}
