import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Engine, Result } from "./row.js";
import { ROWS } from "./rows.js";

/** What one row came to on one engine. */
export interface Figure extends Result {
  readonly number: number;
  readonly title: string;
  readonly target: string;
  readonly engine: Engine;
  readonly size: number;
  readonly seconds: number;
  /** UTC. */
  readonly date: string;
  readonly commit: string;
  /** `load`: how many programs wanted a processor when the run began. */
  readonly machine: { readonly node: string; readonly cpu: string; readonly load: number };
}

const ROOT = join(import.meta.dirname, "../..");
const RUN = join(ROOT, "reliability/results/results.json");
const PUBLISHED = join(ROOT, "docs/background/reliability/results.json");
const PAGE = join(ROOT, "docs/background/reliability.md");

export function printFigure({ number, engine, title, size, figure, met, seconds, details }: Figure): void {
  const verdict = met ? "met" : "MISSED";
  console.log(
    `${String(number).padStart(2)} ${engine.padEnd(10)} ${verdict.padEnd(6)} ${titleOf(title, size)}: ${figure} (${seconds} s)`,
  );
  if (!met && details !== undefined) console.log(typeof details === "string" ? details : JSON.stringify(details));
}

/** Leaves the figures of a run where the next one overwrites them. */
export function saveFigures(figures: readonly Figure[]): void {
  write(RUN, figures);
}

/** Puts figures in the place of the older ones of the same row and engine, and all of them into the page. */
export function publishFigures(figures: readonly Figure[]): void {
  const older = existsSync(PUBLISHED) ? (JSON.parse(readFileSync(PUBLISHED, "utf8")) as Figure[]) : [];
  const isNew = (old: Figure) => figures.some((figure) => figure.title === old.title && figure.engine === old.engine);
  const isKnown = (old: Figure) => ROWS.some(({ title }) => title === old.title);
  const all = [...older.filter((figure) => isKnown(figure) && !isNew(figure)), ...figures].sort(
    (a, b) => placeOf(a) - placeOf(b),
  );
  write(
    PUBLISHED,
    all.map(({ details: _, ...figure }) => figure),
  );
  const page = readFileSync(PAGE, "utf8");
  const [opening, closing] = ["<!-- figures -->", "<!-- /figures -->"];
  const [head, tail] = [page.indexOf(opening) + opening.length, page.indexOf(closing)];
  writeFileSync(PAGE, `${page.slice(0, head)}\n${tableOf(all)}\n${page.slice(tail)}`);
}

/** Where a figure stands: rows in their order, and each row's engines in theirs. */
function placeOf({ number, title, engine }: Figure): number {
  const index = ROWS.findIndex((row) => row.number === number && row.title === title);
  return index + Object.keys(ROWS[index]?.sizes ?? {}).indexOf(engine) / 10;
}

/** One line for what is done alike on several engines. When each was run, at which commit, stands in the JSON. */
function tableOf(figures: readonly Figure[]): string {
  const lines = groups(figures, ({ number, title, size, target }) =>
    [number, titleOf(title, size), target].join(" | "),
  ).map(([row, same]) => {
    const measured = groups(same, ({ figure, met }) => (met ? figure : `**${figure}**`));
    const cells = measured.map(([figure, alike]) => `${alike.map(({ engine }) => engine).join(", ")}: ${figure}`);
    return `| ${row} | ${cells.join("<br>")} |`;
  });
  const dates = figures.map(({ date }) => date.slice(0, 10)).sort();
  const machines = [...new Set(figures.map(({ machine }) => `Node ${machine.node}, ${machine.cpu}`))].join("; ");
  const heads = ["#", "What is done", "Target", "Measured"];
  const when = `${dates[0]} to ${dates.at(-1)}: ${machines}.`;
  return [`| ${heads.join(" | ")} |`, `|${" --- |".repeat(heads.length)}`, ...lines, "", when].join("\n");
}

/** What has the same key, in the order in which the keys come first. */
function groups(figures: readonly Figure[], keyOf: (figure: Figure) => string): [string, Figure[]][] {
  const found = new Map<string, Figure[]>();
  for (const figure of figures) found.set(keyOf(figure), [...(found.get(keyOf(figure)) ?? []), figure]);
  return [...found];
}

const titleOf = (title: string, size: number) => title.replace("{size}", size.toLocaleString("en-US"));

function write(path: string, figures: readonly object[]): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${JSON.stringify(figures, undefined, 1)}\n`);
}
