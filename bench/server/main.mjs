// npm run bench -- server [--quick] [--only requests,remote,authentication,stream,readers] [--others] [--publish]
//
// What `stemma serve` takes, with its default settings, on a SQLite file that lies in memory: each request beside one to a handler
// that does nothing, in turns, from one client. With `--others`, LangGraph's two servers and Mastra's too, each beside its own empty request.
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ApiKeys } from "../../packages/stemma/dist/server.js";
import { sqlite } from "../../packages/stemma/dist/sqlite.js";
import { cellsOf, show } from "../cells.mjs";
import { replaceSection, tableOf } from "../publish.mjs";
import { machine } from "../report.mjs";
import { spread } from "../runner.mjs";
import { measureAuthentication } from "./authentication.mjs";
import { messageOf } from "./calls.mjs";
import { langGraph, langGraphPython } from "./others/langgraph.mjs";
import { mastra } from "./others/mastra.mjs";
import { measureOther } from "./others/other-server.mjs";
import { startBare, startEmpty, startStemma } from "./processes.mjs";
import { measureRatios } from "./ratios.mjs";
import { measureRemote } from "./remote.mjs";
import { measureSlowReaders, measureStream } from "./streams.mjs";

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string" },
    others: { type: "boolean", default: false },
    publish: { type: "boolean", default: false },
  },
});
const [rounds, turns] = values.quick ? [3, 100] : [7, 400];
const load = loadavg()[0];
const rows = [];
const folder = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "stemma-bench-"));
const db = join(folder, "served.db");
const store = sqlite(db);
const servers = [];
const started = async (server) => {
  servers.push(await server);
  return servers.at(-1);
};
try {
  const keys = await prepare();
  const families = {
    requests: async () =>
      measureRatios({
        empty: await started(startEmpty()),
        bare: await started(startBare(db)),
        served: await started(startStemma(db)),
        keys,
        sessionOf: (round) => `s${round}`,
        large: "large",
        ofUser: "ofUser",
        rounds,
        turns,
      }),
    remote: async () =>
      measureRemote({
        store,
        empty: await started(startEmpty()),
        served: await started(startStemma(db)),
        key: keys.whole,
        sessionOf: (round) => `s${round}`,
        rounds,
        turns,
      }),
    authentication: () => measureAuthentication({ store, key: keys.whole, rounds }),
    stream: async () => {
      const served = await started(startStemma(db));
      return measureStream({ store, served, key: keys.whole, session: "medium", size: 10_000, rounds });
    },
    readers: async () => {
      const served = await started(startStemma(db));
      return measureSlowReaders({ served, key: keys.whole, session: "long", size: 100_000 });
    },
    ...(values.others &&
      Object.fromEntries(
        Object.entries({ langGraph, langGraphPython, mastra }).map(([name, other]) => [
          name,
          () => measureOther(other, { rounds: 3, turns: 30 }),
        ]),
      )),
  };
  const only = values.only?.split(",") ?? Object.keys(families);
  for (const [name, measure] of Object.entries(families)) {
    if (!only.includes(name)) continue;
    for (const row of await measure()) add(row);
    while (servers.length > 0) await servers.pop().stop();
  }
} finally {
  for (const server of servers) await server.stop();
  await store.close();
  rmSync(folder, { recursive: true, force: true });
}
if (values.publish) publish();

/** Sessions of several lengths, and keys. */
async function prepare() {
  const apiKeys = new ApiKeys(store);
  const { key: whole } = await apiKeys.create({ name: "bench", access: "memory" });
  const { key: user } = await apiKeys.create({ name: "user", access: "memory", userId: "ada" });
  await store.sessions.create({ id: "ofUser", name: "ofUser", userId: "ada" });
  const ofRounds = Array.from({ length: rounds }, (_, round) => [`s${round}`, 1_000]);
  for (const [id, size] of [...ofRounds, ["ofUser", 1_000], ["medium", 10_000], ["large", 50_000], ["long", 100_000]]) {
    for (let at = 0; at < size; at += 1_000) {
      await store.session(id).append(Array.from({ length: 1_000 }, (_, i) => messageOf(`m${at + i}`)));
    }
  }
  return { whole, user };
}

function add({ values, ...row }) {
  rows.push({ ...row, ...spread(values), values });
  const [verdict, goal, measured, range, work] = cellsOf(rows.at(-1));
  console.log(`${verdict.padEnd(10)}${goal.padEnd(11)}${measured.padEnd(11)}${range.padEnd(20)}${work}`);
}

function publish() {
  const { date, node, cpu } = machine();
  const command = ["npm run bench -- server", ...process.argv.slice(2)].join(" ");
  const made = `\`${command}\` on ${date}: Node ${node}, ${cpu}, load ${show(load, "")} before it began.`;
  replaceSection("docs/background/benchmark.md", "server", [tableOf(rows), made]);
}
