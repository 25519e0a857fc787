import { stemma } from "../candidates/stemma.mjs";
import { MAIN } from "../datasets.mjs";
import { BEST, DEPTH, queriesOf, rangeOf } from "../families/search.mjs";
import { spread } from "../runner.mjs";
import { connectClient, createRunner, parseQuery, rankByWords, sqliteDialect } from "../stemma-internals.mjs";
import { printTime } from "./print.mjs";

const RUNS = 1000;

// The fastest of all runs: the others waited for whoever else uses the machine.
const fastest = (times) => spread(times).min;

/** The statements of a ranking one by one, and what is left for the process. */
export async function profileSearch({ datasets, messages }) {
  const { db } = await datasets.open(stemma, messages);
  const range = rangeOf(db, MAIN);
  const dialect = sqliteDialect({ name: "sqlite", maxTextBytes: 1e9, search: true });
  for (const [title, words] of Object.entries(queriesOf(datasets.conversation(messages)))) {
    const statements = new Map();
    const runner = createRunner(timed(connectClient(db), statements), "sqlite", { isPrepared: () => true });
    const whole = [];
    for (let run = 0; run < RUNS; run += 1) {
      const start = performance.now();
      await runner.read(() => rankByWords(dialect, parseQuery(words.join(" ")))(range, DEPTH, BEST));
      whole.push(performance.now() - start);
    }
    console.log(`Ranking of ${messages.toLocaleString("en")} messages, ${title}`);
    let left = fastest(whole);
    for (const [statement, times] of statements) {
      left -= fastest(times);
      printTime(statement, fastest(times));
    }
    printTime("in the process: reading the answers, ranking", left);
    printTime("together", fastest(whole));
  }
}

function timed(connection, statements) {
  const watch = (method) => (statement) => {
    const start = performance.now();
    const answer = connection[method](statement);
    const label = labelOf(statement);
    if (!statements.has(label)) statements.set(label, []);
    statements.get(label).push(performance.now() - start);
    return answer;
  };
  return { ...connection, query: watch("query"), column: watch("column"), tuples: watch("tuples") };
}

function labelOf({ sql, values: [match] }) {
  if (sql.includes("count(*)")) return `count ${match}`;
  if (sql.includes("bm25")) return `score ${match}`;
  return sql.includes("MATCH") ? `find ${match}` : "look for branches";
}
