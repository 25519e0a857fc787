// What a redact that changes nothing costs: CPU time of an append in memory without one and with one, in turns.
import { memory } from "../../packages/stemma/dist/memory.js";

const APPENDS = 5000;
const ROUNDS = 7;

const text = "It is a message of some length, as people write them to an assistant. ".repeat(5);
const WAYS = { "without redact": {}, "with a redact that changes nothing": { redact: (given) => given } };

async function microseconds(options) {
  const store = memory(options);
  const session = store.session("s");
  await session.append([{ id: "first", role: "user", parts: [{ type: "text", text }] }]);
  const before = process.cpuUsage();
  for (let number = 0; number < APPENDS; number += 1) {
    await session.append([{ id: `m${number}`, role: "user", parts: [{ type: "text", text }] }]);
  }
  const { user, system } = process.cpuUsage(before);
  await store.close();
  return (user + system) / APPENDS;
}

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
const found = Object.fromEntries(Object.keys(WAYS).map((name) => [name, []]));
for (let round = 0; round < ROUNDS; round += 1) {
  for (const [name, options] of Object.entries(WAYS)) found[name].push(await microseconds(options));
}
for (const [name, values] of Object.entries(found)) console.log(`${median(values).toFixed(1)} µs  ${name}`);
