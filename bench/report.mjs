import { mkdirSync, writeFileSync } from "node:fs";
import { arch, cpus, loadavg, platform } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { cellsOf, show, spreadOf, verdictOf } from "./cells.mjs";
import { sqliteVersion } from "./database.mjs";
import { drawPlot } from "./plot.mjs";
import { publishTables } from "./publish.mjs";
import { spread } from "./runner.mjs";

/** Where a run leaves its results, and where those that the documents show are. */
const FOLDER = fileURLToPath(new URL("./results", import.meta.url));
const PUBLISHED = fileURLToPath(new URL("../docs/background/benchmark", import.meta.url));

/** Collects what is measured, and says it as soon as it is known. `run` says how this was run. */
export function createReport({ run, out, publish }) {
  // What else this machine did when it began.
  const load = loadavg()[0];
  const rows = [];
  const comparisons = [];
  const counts = [];
  const wires = [];
  return {
    /** One line of the table: `values` of rounds, or one that is exact, and the target if there is one. */
    row({ work, against, target, values, unit = "×" }) {
      const { median, min, max } = spread(values);
      const row = { work, against, target, unit, median, min, max, values };
      rows.push(row);
      console.log(lineOf(cellsOf(row)));
    },
    /** A candidate's time at what all are measured at, as a multiple of the baseline's. */
    compare({ measure, candidate, values }) {
      const { median, min, max } = spread(values);
      const comparison = { measure, candidate, median, min, max, values };
      comparisons.push(comparison);
      console.log(lineOf(["", "", show(median, "×"), spreadOf(comparison, "×"), `${measure}, ${candidate}`]));
    },
    /** Rows that a candidate reads and writes for one call. */
    count({ measure, candidate, read, written }) {
      counts.push({ measure, candidate, read, written });
      const rows = `reads ${read}, writes ${written}`;
      console.log(lineOf(["", "", "", rows, `${measure}, ${candidate}`]));
    },
    /** Statements that one call of ours sends, and round trips that it waits for. */
    wire({ measure, statements, roundTrips }) {
      wires.push({ measure, statements, roundTrips });
      console.log(lineOf(["", "", "", `${statements} in ${roundTrips} round trips`, `Postgres: ${measure}`]));
    },
    /** Says how long a family took, and how long this process worked. */
    progress: (name, seconds, cpuSeconds) =>
      console.log(`— ${name}: ${seconds.toFixed(1)} s, ${cpuSeconds.toFixed(1)} s of CPU\n`),
    finish() {
      const verdicts = rows.map(verdictOf).filter((verdict) => verdict !== null);
      const count = (verdict) => verdicts.filter((one) => one === verdict).length;
      console.log(`Of ${verdicts.length} targets, ${count("met")} are met and ${count("by median")} by the median.`);
      const results = { run, machine: { ...machine(), load }, rows, comparisons, counts, wires };
      const folder = publish ? PUBLISHED : (out ?? FOLDER);
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, "results.json"), `${JSON.stringify(results, rounded, 1)}\n`);
      if (comparisons.length > 0) writeFileSync(join(folder, "plot.svg"), drawPlot(comparisons));
      if (publish) publishTables(results);
      console.log(`Written to ${folder}.`);
    },
  };
}

/** What was measured on, and when. */
export function machine() {
  const date = new Date().toISOString().slice(0, 10);
  const cpu = `${cpus().length} × ${cpus()[0].model}`;
  return { date, node: process.version, sqlite: sqliteVersion(), cpu, platform: `${platform()} ${arch()}` };
}

const rounded = (_key, value) => (typeof value === "number" ? Number(value.toPrecision(5)) : value);

function lineOf([verdict, goal, measured, range, work]) {
  return `${verdict.padEnd(10)}${goal.padEnd(9)}${measured.padEnd(10)}${range.padEnd(18)}${work}`;
}
