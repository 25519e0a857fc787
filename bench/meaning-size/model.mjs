// What the real model gives, once: the vectors of all turns and queries, in a file, and how fast it is.
import { createHash } from "node:crypto";
import { existsSync, renameSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cpuTime } from "../runner.mjs";
import { messageText } from "./corpus.mjs";

const BATCH = 32;
const MEASURED = 128;

/** The file with the vectors of these texts, in their order. */
export async function vectorsOf(texts, embedder) {
  const hash = createHash("sha256")
    .update(JSON.stringify([embedder.id, texts]))
    .digest("hex")
    .slice(0, 16);
  const path = join(tmpdir(), `stemma-bench-vectors-${hash}`);
  if (existsSync(path)) return path;
  console.log(`The model embeds ${texts.length.toLocaleString("en")} texts, once; they are kept in ${path} …`);
  const vectors = new Map();
  // Texts of a batch cost what its longest one does.
  const byLength = [...texts].sort((a, b) => a.length - b.length);
  for (let start = 0; start < byLength.length; start += BATCH) {
    const batch = byLength.slice(start, start + BATCH);
    for (const [place, vector] of (await embedder.embed(batch)).entries()) vectors.set(batch[place], vector);
  }
  const numbers = Float32Array.from(texts.flatMap((text) => Array.from(vectors.get(text))));
  writeFileSync(`${path}.part`, numbers);
  renameSync(`${path}.part`, path);
  return path;
}

/** Messages a second that the model embeds, by the clock and by its CPU time; and milliseconds for a query. */
export async function measureModel({ turns, queries }, embedder) {
  await embedder.embed(queries.slice(0, 1));
  const messages = Array.from({ length: MEASURED }, (_, index) => messageText(turns, index));
  const [wall, cpu] = [performance.now(), cpuTime()];
  for (let start = 0; start < MEASURED; start += BATCH) await embedder.embed(messages.slice(start, start + BATCH));
  const rates = [performance.now() - wall, cpuTime() - cpu].map((time) => (1000 * MEASURED) / time);
  const times = [];
  for (const query of queries.slice(1, 21)) {
    const start = performance.now();
    await embedder.embed([query]);
    times.push(performance.now() - start);
  }
  return { perSecond: rates[0], perCpuSecond: rates[1], query: times.sort((a, b) => a - b)[times.length >> 1] };
}
