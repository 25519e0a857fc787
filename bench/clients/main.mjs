// npm run bench -- clients [--clients 16,64] [--seconds 5] [--rounds 5] [--fsync]
//
// How many appends a Postgres server takes from many clients at once: over 1,000 sessions, and all to one. Beside it, in turn, a
// function of the database that only inserts, into the documented table; its call is a prepared statement, so stemma runs with
// prepared statements too, and without. Clients are connections of one process. With --fsync the server waits for the disk.
import { parseArgs } from "node:util";
import { postgres } from "../../packages/stemma/dist/postgres.js";
import { SessionManager } from "../../packages/stemma/dist/session.js";
import { show } from "../cells.mjs";
import { startServer } from "../postgres-server.mjs";
import { median } from "./at-once.mjs";
import { startBare } from "./bare.mjs";
import { appendInPieces } from "./in-turns.mjs";

const { values } = parseArgs({
  options: {
    clients: { type: "string", default: "16,64" },
    seconds: { type: "string", default: "5" },
    rounds: { type: "string", default: "5" },
    fsync: { type: "boolean", default: false },
  },
});
const SESSIONS = 1_000;
const BARE = "bare function";
const stemma = (prepare) => (pool) => {
  const manager = SessionManager.create(postgres(pool, { prepare }));
  return (id, message) => manager.append(id, message);
};
const SIDES = { stemma: stemma(true), "stemma, not prepared": stemma(false), [BARE]: startBare };
const [seconds, rounds] = [Number(values.seconds), Number(values.rounds)];

const server = await startServer(["-c", "max_connections=300", ...(values.fsync ? ["-c", "fsync=on"] : [])]);
try {
  console.log(values.fsync ? "The server waits for the disk.\n" : "The server does not wait for the disk.\n");
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
  const runs = await appendInPieces({ url: server.url, sides: SIDES, clients, sessions, seconds, rounds });
  const bareRate = median(runs[BARE].map(({ rate }) => rate));
  for (const [side, found] of Object.entries(runs)) {
    const of = (key) => median(found.map((run) => run[key]));
    const [rate, p50, p99] = ["rate", "p50", "p99"].map(of);
    const times = [show(rate / bareRate, "×"), show(p50, ""), show(p99, ""), show(p99 / p50, "")];
    const fair = `${of("least")}–${of("most")}`;
    console.log(`| ${[clients, sessions.toLocaleString("en"), side, rate.toFixed(0), ...times, fair].join(" | ")} |`);
  }
}
