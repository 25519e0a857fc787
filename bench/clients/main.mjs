// npm run bench:clients -- [--clients 16,64] [--seconds 5] [--rounds 5]
//
// How many appends a Postgres server takes from many clients at once: over 1,000 sessions, and all to one. Beside it, in turn, a
// function of the database that only inserts, into the documented table. Clients are connections of one process.
import { parseArgs } from "node:util";
import pg from "pg";
import { postgres } from "../../dist/postgres.js";
import { SessionManager } from "../../dist/session.js";
import { show } from "../cells.mjs";
import { startServer } from "../postgres-server.mjs";
import { appendAtOnce, median, messageOf } from "./at-once.mjs";
import { startBare } from "./bare.mjs";

const { values } = parseArgs({
  options: {
    clients: { type: "string", default: "16,64" },
    seconds: { type: "string", default: "5" },
    rounds: { type: "string", default: "5" },
  },
});
const SESSIONS = 1_000;
const [seconds, rounds] = [Number(values.seconds), Number(values.rounds)];

const server = await startServer(["-c", "max_connections=200"]);
try {
  console.log(
    "| Clients | Sessions | | Appends/s | against the bare function | p50, ms | p99, ms | p99 ÷ p50 | least and most of a client |",
  );
  console.log("| --: | --: | --- | --: | --: | --: | --: | --: | --: |");
  for (const clients of values.clients.split(",").map(Number)) {
    for (const sessions of [SESSIONS, 1]) await measure(clients, sessions);
  }
} finally {
  await server.stop();
}

async function measure(clients, sessions) {
  const schema = `clients_${clients}_${sessions}`;
  const poolOf = async (side) => {
    const options = `-c search_path=${schema}_${side}`;
    const pool = new pg.Pool({ connectionString: server.url, max: clients, options });
    await pool.query(`CREATE SCHEMA ${schema}_${side}`);
    return pool;
  };
  const pools = [await poolOf("ours"), await poolOf("bare")];
  try {
    await compare(clients, sessions, pools);
  } finally {
    for (const pool of pools) await pool.end();
  }
}

async function compare(clients, sessions, [ours, bare]) {
  const manager = SessionManager.create(postgres(ours));
  const sides = {
    stemma: (id, message) => manager.append(id, message),
    "bare function": await startBare(bare),
  };
  for (const append of Object.values(sides)) {
    for (let index = 0; index < sessions; index += 1) await append(`s${index}`, messageOf("first"));
  }
  const runs = Object.fromEntries(Object.keys(sides).map((side) => [side, []]));
  for (let round = 0; round < rounds; round += 1) {
    const order = Object.entries(sides);
    for (const [side, append] of round % 2 === 0 ? order : order.reverse()) {
      runs[side].push(await appendAtOnce(append, { clients, sessions, seconds, name: `${side}-${round}` }));
    }
  }
  const bareRate = median(runs["bare function"].map(({ rate }) => rate));
  for (const [side, found] of Object.entries(runs)) {
    const of = (key) => median(found.map((run) => run[key]));
    const [rate, p50, p99] = ["rate", "p50", "p99"].map(of);
    const times = [show(rate / bareRate, "×"), show(p50, ""), show(p99, ""), show(p99 / p50, "")];
    const fair = `${of("least")}–${of("most")}`;
    console.log(`| ${[clients, sessions.toLocaleString("en"), side, rate.toFixed(0), ...times, fair].join(" | ")} |`);
  }
}
