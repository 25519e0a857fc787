import { stemma } from "../candidates/stemma.mjs";
import { MAIN } from "../datasets.mjs";
import { BEST, DEPTH, queriesOf, rangeOf } from "../families/search.mjs";
import { spread } from "../runner.mjs";
import { connectClient, createRunner, parseQuery, rankByWords, sqliteDialect } from "../stemma-internals.mjs";
import { printTime } from "./print.mjs";

const RUNS = 1000;

// Of all runs: the others waited for whoever else uses the machine.
const fastest = (times) => spread(times).min;

/** The statements of a ranking one by one, and what is left for the process. */
export async function profileSearch({ datasets, messages }) {
  const { db } = await datasets.open(stemma, messages);
  const range = rangeOf(db, MAIN);
  const dialect = sqliteDialect({ name: "sqlite", maxTextBytes: 1e9, search: true });
  for (const [title, words] of Object.entries(queriesOf(datasets.conversation(messages)))) {
    const statements = new Map();
    const [whole, process] = [[], []];
    let spent = 0;
    const note = (statement, time) => {
      spent += time;
      const label = labelOf(statement);
      if (!statements.has(label)) statements.set(label, []);
      statements.get(label).push(time);
    };
    const runner = createRunner(timed(connectClient(db), note), "sqlite", { isPrepared: () => true });
    for (let run = 0; run < RUNS; run += 1) {
      spent = 0;
      const start = performance.now();
      await runner.read(() => rankByWords(dialect, parseQuery(words.join(" ")))(range, DEPTH, BEST));
      whole.push(performance.now() - start);
      process.push(whole.at(-1) - spent);
    }
    console.log(`Ranking of ${messages.toLocaleString("en")} messages, ${title}`);
    for (const [statement, times] of statements) printTime(statement, fastest(times));
    printTime("in the process: reading the answers, ranking", fastest(process));
    printTime("together", fastest(whole));
  }
}

function timed(connection, note) {
  const watch = (method) => (statement) => {
    const start = performance.now();
    const answer = connection[method](statement);
    note(statement, performance.now() - start);
    return answer;
  };
  return { ...connection, query: watch("query"), column: watch("column"), tuples: watch("tuples") };
}

function labelOf({ sql, values }) {
  const match = values.find((value) => typeof value === "string");
  if (sql.includes("count(*)")) return `count ${match}`;
  if (sql.includes("bm25")) return `score ${match}`;
  if (sql.includes("hex(sz)")) return `score ${match} by length`;
  if (sql.includes("hex(block)")) return "look how large the index is";
  if (sql.includes("OFFSET")) return `look whether many hold ${match}`;
  return sql.includes("MATCH") ? `find ${match}` : "look for branches";
}
