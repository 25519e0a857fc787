// What was measured, as a table of Markdown.
import { loadavg } from "node:os";
import { show } from "../cells.mjs";
import { replaceSection } from "../publish.mjs";
import { machine } from "../report.mjs";
import { SIDES } from "./calls.mjs";
import { DELAY } from "./turn.mjs";

const LABELS = { stemma: "stemma", bare: "by hand" };

/** Prints the table; with `publish` also puts it into docs/background/benchmark.md. */
export function reportTable({ settings, found, turns, count, publish }) {
  const line = (cells) => `| ${cells.join(" | ")} |`;
  const rows = found.flatMap(({ title, times }) =>
    SIDES.map((side) => line([`${title}, ${LABELS[side]}`, ...times.map((of) => spreadOf(of[side]))])),
  );
  const ofTurns = (title, key, unit = "") => line([title, ...turns.map((of) => spreadOf(of[key], unit))]);
  const { date, node, cpu } = machine();
  const table = [
    line(["Milliseconds, p50 / p99", ...settings.map(({ name }) => name)]),
    `| --- |${" --: |".repeat(settings.length)}`,
    ...rows,
    ofTurns("the calls of a turn, stemma", "stemma"),
    ofTurns("the calls of a turn, by hand", "bare"),
    ofTurns(`the whole turn, with a model that takes ${DELAY} ms`, "whole"),
    ofTurns("stemma's share of it", "share", " %"),
  ].join("\n");
  const command = [
    "npm run bench -- defaults",
    ...(process.argv.length > 2 ? ["--", ...process.argv.slice(2)] : []),
  ].join(" ");
  const load = loadavg()[0].toFixed(1);
  const made = `\`${command}\` on ${date}, at ${count.toLocaleString("en")} messages: Node ${node}, ${cpu}, load ${load} at its end.`;
  console.log(`\n${table}\n\n${made}`);
  if (publish) replaceSection("docs/background/benchmark.md", "defaults", [table, made]);
}

function spreadOf(times, unit = "") {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share) => show(sorted[Math.floor(share * (sorted.length - 1))], "");
  return `${at(0.5)} / ${at(0.99)}${unit}`;
}
