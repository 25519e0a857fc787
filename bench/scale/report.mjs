// The curves as a table of Markdown, as JSON and as a plot.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { show } from "../cells.mjs";
import { replaceSection } from "../publish.mjs";
import { machine } from "../report.mjs";
import { drawCurves, shortOf } from "./plot.mjs";

const RESULTS = fileURLToPath(new URL("../results", import.meta.url));
const PUBLISHED = fileURLToPath(new URL("../../docs/background/scaling", import.meta.url));

/** Prints the curves, and writes them; with `publish` where the page shows them, beside those of stores that were not measured now. */
export function report(measured, publish) {
  const folder = publish ? PUBLISHED : RESULTS;
  const { date, node, cpu } = machine();
  const made = `on ${date} with Node ${node}, ${cpu}`;
  const found = measured.map((curve) => ({ ...curve, made }));
  const kept = (publish ? published() : []).filter(({ store }) => !found.some((curve) => curve.store === store));
  const curves = [...kept, ...found].sort((a, b) => STORES.indexOf(a.store) - STORES.indexOf(b.store));
  const table = tableOf(curves);
  console.log(`\n${table}\n\n${whenOf(curves)}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "curves.json"), `${JSON.stringify(curves, undefined, 1)}\n`);
  writeFileSync(join(folder, "curves.svg"), drawCurves(curves));
  if (publish) replaceSection("docs/background/scaling.md", "curves", [table, whenOf(curves)]);
}

const published = () => JSON.parse(readFileSync(join(PUBLISHED, "curves.json"), "utf8"));

const whenOf = (curves) => [...new Set(curves.map(({ store, made }) => `${store}: ${made}.`))].join(" ");

const STORES = ["SQLite", "Postgres"];

/** What growth is told against: below that, everything is in the cache. */
const BASE = 10_000;
/** What a call may take of what it takes there, however much is stored; the table shows what is above in bold. */
const AT_MOST = 1.5;

function tableOf(curves) {
  const sizes = [...new Set(curves.flatMap(({ points }) => points.map(({ size }) => size)))].sort((a, b) => a - b);
  const line = (cells) => `| ${cells.join(" | ")} |`;
  const rows = curves.map(({ store, work, points }) => {
    const cells = sizes.map((size) => points.find((point) => point.size === size));
    const [base, last] = [points.find(({ size }) => size === BASE), points.at(-1)];
    const ratio = base === undefined || last === base ? null : last.median / base.median;
    const growth = ratio === null ? "–" : ratio > AT_MOST ? `**${show(ratio, "×")}**` : show(ratio, "×");
    return line([`${store}: ${work}`, ...cells.map((point) => (point ? show(point.median, "") : "–")), growth]);
  });
  const head = ["Milliseconds, medians", ...sizes.map(shortOf), `largest ÷ ${shortOf(BASE)}, ≤ ${AT_MOST}×`];
  return [line(head), `| --- |${" --: |".repeat(sizes.length + 1)}`, ...rows].join("\n");
}
