// npm run bench -- meaning --locomo <path to locomo10.json> --tau <path to tau-bench-airline-gpt-4o.json>
//
// What search by meaning adds to search by words, with a real but weak embedder, and with one whose vectors mean nothing.
// R@10, and its difference from words alone with an interval of 95 % by drawing conversations (customers) again.
import { parseArgs } from "node:util";
import { SessionManager } from "../../packages/stemma/dist/session.js";
import { sqlite } from "../../packages/stemma/dist/sqlite.js";
import { randomEmbedder, weakEmbedder } from "./embedders.mjs";
import { readSets } from "./sets.mjs";

const LIMIT = 10;
const DRAWS = 10_000;
const ALLOWED = 0.01;

const { values } = parseArgs({ options: { locomo: { type: "string" }, tau: { type: "string" } } });
const weak = await weakEmbedder();

for (const [name, groups] of Object.entries(readSets(values))) {
  const queries = groups.flatMap((group) => group.queries);
  console.log(`\n${name}: ${queries.length} queries`);
  const words = await ask(groups, (store) => store);
  const ways = {
    "words alone": words,
    "vectors alone": await ask(groups, (store) => store.withEmbedder({ ...weak, weights: { words: 0, vectors: 1 } })),
    both: await ask(groups, (store) => store.withEmbedder(weak)),
    "both, vectors that mean nothing": await ask(groups, (store) => store.withEmbedder(randomEmbedder)),
  };
  for (const [way, found] of Object.entries(ways)) print(way, found.recalls, words.recalls, queries);
  const together = queries.map(({ recall }, index) =>
    recall([...words.results[index], ...ways["vectors alone"].results[index]]),
  );
  print("whatever either of the first two found", together, words.recalls, queries);
}

/** Asks every query of every group, whose messages stand in a store of their own. */
async function ask(groups, open) {
  const results = [];
  const recalls = [];
  for (const { sessions, queries } of groups) {
    const store = open(sqlite(":memory:"));
    const manager = SessionManager.create(store);
    for (const { id, messages } of sessions) await manager.appendAll(id, messages);
    await store.embeddings?.flush();
    for (const { text, recall } of queries) {
      const found = await manager.search(text, { limit: LIMIT });
      results.push(found);
      recalls.push(recall(found));
    }
    await store.close();
  }
  return { results, recalls };
}

function print(way, recalls, words, queries) {
  const difference = recalls.map((recall, index) => recall - words[index]);
  const [low, high] = interval(difference, queries);
  const verdict = way.startsWith("both")
    ? `  not ${ALLOWED} below words: ${mean(difference) >= -ALLOWED ? "met" : "MISSED"}`
    : "";
  const signed = (number) => `${number < 0 ? "" : "+"}${number.toFixed(3)}`;
  console.log(
    `${way.padEnd(40)} R@10 ${mean(recalls).toFixed(3)}  ${signed(mean(difference))} [${signed(low)}, ${signed(high)}]${verdict}`,
  );
}

function mean(numbers) {
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
}

// Questions of one conversation are alike: whole conversations are drawn.
function interval(differences, queries) {
  const units = new Map();
  for (const [index, { unit }] of queries.entries()) {
    const { sum, count } = units.get(unit) ?? { sum: 0, count: 0 };
    units.set(unit, { sum: sum + differences[index], count: count + 1 });
  }
  const all = [...units.values()];
  const means = Array.from({ length: DRAWS }, () => {
    let [sum, count] = [0, 0];
    for (let draw = 0; draw < all.length; draw += 1) {
      const unit = all[Math.floor(Math.random() * all.length)];
      sum += unit.sum;
      count += unit.count;
    }
    return sum / count;
  }).sort((a, b) => a - b);
  return [means[Math.floor(DRAWS * 0.025)], means[Math.floor(DRAWS * 0.975)]];
}
