// How long a search takes by words alone, and by words and vectors, of 384 numbers each; what embedding costs beside the
// embedder. `node bench/recall/vectors.mjs [messages …] [--vec | --postgres]`; with --vec the database has loaded sqlite-vec.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import * as sqliteVec from "sqlite-vec";
import { Session } from "../../packages/stemma/dist/index.js";
import { postgres } from "../../packages/stemma/dist/postgres.js";
import { sqlite } from "../../packages/stemma/dist/sqlite.js";
import { startServer } from "../postgres-server.mjs";

const DIMENSIONS = 384;
const RUNS = 15;
const withExtension = process.argv.includes("--vec");
const onPostgres = process.argv.includes("--postgres");
const sizes = process.argv
  .slice(2)
  .filter((word) => /^\d+$/.test(word))
  .map(Number);

let seed = 1;
const random = () => {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
  return seed / 2 ** 32;
};
const vocabulary = Array.from({ length: 5000 }, (_, index) => `w${index.toString(36)}x`);
const sentence = () => Array.from({ length: 30 }, () => vocabulary[Math.floor(random() ** 3 * 5000)]).join(" ");
const embedder = {
  id: "random",
  dimensions: DIMENSIONS,
  batchSize: 512,
  embed: async (texts) => texts.map(() => Array.from({ length: DIMENSIONS }, () => random() - 0.5)),
};

for (const size of sizes.length > 0 ? sizes : [10_000, 100_000]) {
  const folder = mkdtempSync(join(tmpdir(), "stemma-vectors-"));
  const server = onPostgres ? await startServer([]) : null;
  const plain = server === null ? openFile(folder) : postgres(server.url);
  const store = plain.withEmbedder(embedder);
  for (let start = 0; start < size; start += 1000) {
    const messages = Array.from({ length: 1000 }, (_, index) => ({
      id: `m${start + index}`,
      role: "user",
      parts: [{ type: "text", text: sentence() }],
    }));
    await Session.create(plain).appendAll(messages);
  }
  const began = performance.now();
  await store.embeddings.flush();
  const embedding = (performance.now() - began) / size;
  const first = performance.now();
  await Session.create(store).search("w1x");
  const loading = performance.now() - first;
  const times = { words: [], both: [] };
  for (let run = 0; run < RUNS; run += 1) {
    const query = sentence().split(" ").slice(0, 4).join(" ");
    for (const [name, each] of [
      ["words", plain],
      ["both", store],
    ]) {
      const start = performance.now();
      await Session.create(each).search(query);
      times[name].push(performance.now() - start);
    }
  }
  const median = (list) => list.sort((a, b) => a - b)[Math.floor(list.length / 2)];
  const [words, both] = [median(times.words), median(times.both)];
  const engine = onPostgres ? ", Postgres" : withExtension ? ", sqlite-vec" : "";
  console.log(
    `${size} messages${engine}: by words ${words.toFixed(1)} ms, by both ${both.toFixed(1)} ms (${(both / words).toFixed(1)} times); ` +
      `first search ${loading.toFixed(0)} ms; written at ${embedding.toFixed(2)} ms a vector`,
  );
  await store.close();
  await server?.stop();
  rmSync(folder, { recursive: true });
}

function openFile(folder) {
  const database = new Database(join(folder, "bench.db"));
  database.pragma("journal_mode = WAL");
  database.pragma("synchronous = NORMAL");
  if (withExtension) sqliteVec.load(database);
  return sqlite(database);
}
