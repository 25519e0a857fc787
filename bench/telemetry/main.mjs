// npm run bench -- telemetry [--before <folder>]
//
// What telemetry costs an append, off and on: rounds of the ways take turns in this one process, and its CPU time counts. With
// `--before`, also the build in another clone, as of a commit before telemetry.
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { makeMessages } from "../messages.mjs";

const { values } = parseArgs({ options: { before: { type: "string" } } });
const ROUNDS = 15;
const APPENDS = 3000;

const root = resolve(import.meta.dirname, "../..");
const build = async (/** @type {string} */ folder) => ({
  ...(await import(join(folder, "packages/stemma/dist/memory.js"))),
  ...(await import(join(folder, "packages/stemma/dist/session.js"))),
});
const now = await build(root);
const { instrument } = await import(join(root, "packages/stemma/dist/opentelemetry.js"));

/** @type {Record<string, () => Promise<number>>} */
const ways = {
  off: () => round(now),
  "off, again": () => round(now),
  "on, without statements": () => round(now, (store) => instrument(store, { statements: false })),
  on: () => round(now, instrument),
};
if (values.before !== undefined) {
  const before = await build(resolve(values.before));
  ways.before = () => round(before);
}

/** @type {Map<string, number[]>} */
const times = new Map(Object.keys(ways).map((name) => [name, []]));
for (const way of Object.values(ways)) await way();
for (let turn = 0; turn < ROUNDS; turn += 1) {
  const names = turn % 2 === 0 ? [...times.keys()] : [...times.keys()].reverse();
  for (const name of names) times.get(name)?.push(await ways[name]());
}
for (const [name, list] of times) {
  const sorted = list.sort((one, other) => one - other);
  const median = sorted[sorted.length >> 1];
  console.log(`${name.padEnd(24)} median ${median.toFixed(1)} µs an append, fastest ${sorted[0].toFixed(1)}`);
}

/** Microseconds of CPU that an append takes. */
async function round({ memory, Session }, wrap = (/** @type {unknown} */ store) => store) {
  const store = wrap(memory());
  const session = Session.create(store).forSession("s");
  const [first, ...messages] = makeMessages(APPENDS + 1);
  await session.appendMessage(first);
  const start = process.cpuUsage();
  for (const message of messages) await session.appendMessage(message);
  const { user, system } = process.cpuUsage(start);
  await store.close();
  return (user + system) / APPENDS;
}
