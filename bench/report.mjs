import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { arch, cpus, platform } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { sqliteVersion } from "./database.mjs";
import { drawPlot } from "./plot.mjs";
import { spread } from "./race.mjs";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));

/** Where a run leaves its results, and where those that the documents show are. */
const FOLDER = at("./results");
const PUBLISHED = at("../docs/benchmark");

/** Collects what is measured, and says it as soon as it is known. `run` says how this was run. */
export function createReport({ run, out, publish }) {
  const rows = [];
  const comparisons = [];
  const counts = [];
  return {
    /** One line of the table: `values` of rounds, or one that is exact, and the target if there is one. */
    row({ work, against, target, values, unit = "×" }) {
      const { median, min, max } = spread(values);
      const { atLeast = -Infinity, atMost = Infinity } = target ?? {};
      const met = target === undefined ? null : median >= atLeast && median <= atMost;
      const row = { work, against, target, unit, median, min, max, met, values };
      rows.push(row);
      console.log(lineOf(cellsOf(row)));
    },
    /** A subject's time at what all are measured at, as a multiple of the limit's. */
    compare({ measure, subject, values }) {
      const { median, min, max } = spread(values);
      const comparison = { measure, subject, median, min, max, values };
      comparisons.push(comparison);
      console.log(lineOf(["", "", show(median, "×"), spreadOf(comparison, "×"), `${measure}, ${subject}`]));
    },
    /** Rows that a subject reads and writes for one call. */
    count({ measure, subject, read, written }) {
      counts.push({ measure, subject, read, written });
      const rows = `reads ${read}, writes ${written}`;
      console.log(lineOf(["", "", "", rows, `${measure}, ${subject}`]));
    },
    progress: (name, milliseconds) => console.log(`— ${name}: ${(milliseconds / 1000).toFixed(1)} s\n`),
    finish() {
      const judged = rows.filter(({ met }) => met !== null);
      const met = judged.filter((row) => row.met).length;
      console.log(`${met} of ${judged.length} targets met.`);
      const folder = publish ? PUBLISHED : (out ?? FOLDER);
      mkdirSync(folder, { recursive: true });
      const results = { run, machine: machine(), rows, comparisons, counts };
      writeFileSync(join(folder, "results.json"), `${JSON.stringify(results, rounded, 1)}\n`);
      if (comparisons.length > 0) writeFileSync(join(folder, "plot.svg"), drawPlot(comparisons));
      console.log(`Written to ${folder}.`);
      if (!publish) return;
      const { date, node, sqlite, cpu } = results.machine;
      const made = `\`${run.command}\` on ${date} with Node ${node}, SQLite ${sqlite}, ${cpu}.`;
      replaceSection(at("../README.md"), `${tableOf(judged)}\n\n${made}`);
      replaceSection(join(PUBLISHED, "../benchmark.md"), `${tableOf(rows)}\n\n${made}`);
    },
  };
}

function machine() {
  const date = new Date().toISOString().slice(0, 10);
  const cpu = `${cpus().length} × ${cpus()[0].model}`;
  return { date, node: process.version, sqlite: sqliteVersion(), cpu, platform: `${platform()} ${arch()}` };
}

const rounded = (_key, value) => (typeof value === "number" ? Number(value.toPrecision(5)) : value);

const digits = (value) => (value >= 100 ? 0 : value >= 10 ? 1 : 2);
const show = (value, unit) => `${unit === "" && Number.isInteger(value) ? value : value.toFixed(digits(value))}${unit}`;
const spreadOf = ({ min, max, values }, unit) =>
  values.length === 1 ? "exact" : `${show(min, "")}–${show(max, unit)}`;

function cellsOf(row) {
  const { work, against, target, unit, median, met } = row;
  const goal =
    target === undefined
      ? ""
      : target.atLeast === undefined
        ? `≤ ${target.atMost}${unit}`
        : `≥ ${target.atLeast}${unit}`;
  const verdict = met === null ? "" : met ? "met" : "missed";
  return [verdict, goal, show(median, unit), spreadOf(row, unit), against ? `${work}, vs ${against}` : work];
}

function lineOf([verdict, goal, measured, range, work]) {
  return `${verdict.padEnd(7)}${goal.padEnd(9)}${measured.padEnd(10)}${range.padEnd(18)}${work}`;
}

function tableOf(rows) {
  const lines = rows.map((row) => {
    const [verdict, goal, measured, range, work] = cellsOf(row);
    return `| ${work} | ${goal} | ${measured} | ${range} | ${verdict === "missed" ? "**missed**" : verdict} |`;
  });
  return ["| Work | Target | Measured | Rounds | |", "| --- | --- | --- | --- | --- |", ...lines].join("\n");
}

const OPENING = "<!-- benchmark -->";
const CLOSING = "<!-- /benchmark -->";

function replaceSection(path, text) {
  const before = readFileSync(path, "utf8");
  const [head, tail] = [before.indexOf(OPENING) + OPENING.length, before.indexOf(CLOSING)];
  if (tail < head) throw new Error(`${path} has no place for the table, between ${OPENING} and ${CLOSING}.`);
  writeFileSync(path, `${before.slice(0, head)}\n${text}\n${before.slice(tail)}`);
}
