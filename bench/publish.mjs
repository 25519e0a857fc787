// Puts the tables of a run into README and docs.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { cellsOf, show } from "./cells.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const PAGE = "docs/background/benchmark.md";

/** The rows that matter most to who chooses: the beginnings of their names. */
const FOR_README = [
  "append through `Session`",
  "history of 100,000, linear",
  "the newest 50 of 100,000: its time, vs that",
  "cold open of 100,000",
  "search of 100,000, three words, ranking",
  "append at 10,000: how much faster, vs agents@0.22 Session",
];

/** Writes six rows into the README, and all that was measured into docs/background/benchmark.md. */
export function publishTables({ run, machine, rows, comparisons, counts }) {
  const { date, node, sqlite, cpu, load } = machine;
  const made = `\`${run.command}\` on ${date}: Node ${node}, SQLite ${sqlite}, ${cpu}, load ${load.toFixed(1)} before it began.`;
  const chosen = FOR_README.flatMap((name) => rows.find((row) => cellsOf(row).at(-1).startsWith(name)) ?? []);
  replaceSection("README.md", "benchmark", [tableOf(chosen), made]);
  replaceSection(PAGE, "benchmark", [
    tableOf(rows),
    "Times, as multiples of the baseline's:",
    matrixOf(comparisons, "candidate", "measure", ({ median }) => show(median, "×")),
    "Rows read / rows written by one call, as workerd counts them:",
    matrixOf(counts, "measure", "candidate", ({ read, written }) => `${read} / ${written}`),
    made,
  ]);
}

/** Rows as a table. */
export function tableOf(rows) {
  const lines = rows.map((row) => {
    const [verdict, goal, measured, range, work] = cellsOf(row);
    return `| ${work} | ${goal} | ${measured} | ${range} | ${verdict === "missed" ? "**missed**" : verdict} |`;
  });
  return ["| Work | Target | Measured | Rounds | |", "| --- | --- | --- | --- | --- |", ...lines].join("\n");
}

// A line for each value of one field of the entries, a column for each of another.
function matrixOf(entries, line, column, cellOf) {
  const columns = [...new Set(entries.map((entry) => entry[column]))];
  const lines = [...new Set(entries.map((entry) => entry[line]))].map((name) => {
    const cells = columns.map((other) => {
      const entry = entries.find((one) => one[line] === name && one[column] === other);
      return entry === undefined ? "–" : cellOf(entry);
    });
    return `| ${[name, ...cells].join(" | ")} |`;
  });
  return [`| | ${columns.join(" | ")} |`, `|${" --- |".repeat(columns.length + 1)}`, ...lines].join("\n");
}

/** Replaces what stands in a page between the comments of a name. */
export function replaceSection(page, name, blocks) {
  const [opening, closing] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const before = readFileSync(ROOT + page, "utf8");
  const [head, tail] = [before.indexOf(opening) + opening.length, before.indexOf(closing)];
  if (tail < head) throw new Error(`${page} has no place for the table, between ${opening} and ${closing}.`);
  writeFileSync(ROOT + page, `${before.slice(0, head)}\n${blocks.join("\n\n")}\n${before.slice(tail)}`);
}
