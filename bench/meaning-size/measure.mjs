// Measures one store in a process of its own, so that its memory can be told, and prints what it found as JSON.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { SessionManager } from "../../packages/stemma/dist/session.js";
import { verify } from "../verify.mjs";
import { readTexts, readVectors, sessionsOf } from "./corpus.mjs";
import { ENGINES } from "./engines.mjs";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc");
const resident = () => {
  collectGarbage();
  return process.memoryUsage.rss() / 1e6;
};

const { engine, messages: total, locomo, vectors, dimensions, id, folder, url } = JSON.parse(process.argv[2]);
const { turns, queries } = readTexts(locomo);
const known = readVectors(vectors, dimensions);
const vectorOf = new Map([...turns, ...queries].map((text, place) => [text, known[place]]));

const { store, size, received, end } = await ENGINES[engine]({ folder, url });
const manager = SessionManager.create(store);
for (const session of sessionsOf(turns, total)) await manager.appendAll(session.id, session.messages);
const before = { memory: resident(), bytes: await size() };

let embedding = 0;
let hits = 0;
const embedded = store.withEmbedder({ id, dimensions, embed });
const start = performance.now();
await embedded.embeddings.flush();
const flush = performance.now() - start - embedding;
const flushed = { memory: resident(), bytes: await size() };

const both = SessionManager.create(embedded);
const first = await timeOf(queries[0], both);
const times = { words: [], both: [] };
let read = 0;
for (const query of queries) {
  times.words.push(await timeOf(query, manager));
  const already = received?.() ?? 0;
  times.both.push(await timeOf(query, both));
  read = Math.max(read, (received?.() ?? 0) - already);
}
const searched = { memory: resident() };
await embedded.close();
await end();
verify(hits > queries.length, engine, "its searches find nothing.");
const percentiles = (list) => {
  const sorted = list.sort((a, b) => a - b);
  return [0.5, 0.99].map((share) => sorted[Math.floor(share * (sorted.length - 1))]);
};
const found = { first, words: percentiles(times.words), both: percentiles(times.both) };
const kilobytes = received === undefined ? null : read / 1000;
console.log(JSON.stringify({ engine, flush, before, flushed, searched, read: kilobytes, ...found }));

async function timeOf(query, of) {
  const start = performance.now();
  hits += (await of.search(query, { limit: 10 })).length;
  return performance.now() - start;
}

// The vector of a message is the mean of those of its two turns. The time to make it is not the store's.
async function embed(texts) {
  const begin = performance.now();
  const given = texts.map((text) => meanOf(text.split("\n").map((part) => vectorOf.get(part))));
  embedding += performance.now() - begin;
  return given;
}

function meanOf(several) {
  return Array.from(several[0], (_, place) => several.reduce((sum, one) => sum + one[place], 0) / several.length);
}
