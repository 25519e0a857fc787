import {
  type Intervals,
  MEASURES,
  type Measure,
  type QaReport,
  type RecallComparison,
  type RecallReport,
  type RecallRow,
} from "@stemma/eval";
import { columns, count } from "../text.js";
import type { Reranking } from "./with-set.js";

/** A report of `stemma eval recall` as text. */
export function describeRecall(report: RecallReport): string {
  const { total, categories, unanswerable, smallTalk, overBm25 } = report;
  const found = (of: (summary: RecallRow["stemma"]) => string) => [of(total.stemma), of(total.bm25)];
  const measures = withIntervals(overBm25, (name) => found((summary) => share(summary[name])));
  const costs = [
    ["p50", ...found(({ p50 }) => `${p50.toFixed(1)} ms`)],
    ["p95", ...found(({ p95 }) => `${p95.toFixed(1)} ms`)],
    ["tokens quoted", ...found(({ tokens }) => tokens.toFixed(0))],
  ];
  return [
    `${headOf(report)}\n`,
    columns([["MEASURE", "STEMMA", "BM25", "DIFFERENCE", "95 %"], ...measures, ...costs]),
    categories.length < 2 ? "" : categoriesOf(categories),
    unanswerable === null ? "" : `${describeUnanswerable(unanswerable)}\n`,
    `Small talk, such as "thanks": ${smallTalk.toFixed(0)} tokens quoted.\n`,
  ]
    .filter((part) => part !== "")
    .join("\n");
}

function headOf({ set, conversations, total, options, version }: RecallReport): string {
  const together = options.together ? ["all in one store"] : [];
  const half = options.half === undefined ? [] : [`the ${options.half} half`];
  const numbers = [count(conversations, "conversation"), count(total.questions, "question")];
  return [set, ...numbers, ...together, ...half, `stemma ${version}`].join(" · ");
}

const BY_CATEGORY = ["R@10", "MRR", "near@10", "quoted", "session any@5"] as const satisfies readonly Measure[];

function categoriesOf(rows: readonly RecallRow[]): string {
  const shown = BY_CATEGORY.filter((name) => rows.some(({ stemma }) => stemma[name] !== null));
  const lines = rows.map(({ category, questions, stemma, bm25 }) => {
    const both = shown.map((name) => `${share(stemma[name])} (${share(bm25[name])})`);
    return [category, questions.toLocaleString("en"), ...both];
  });
  return columns([["CATEGORY", "QUESTIONS", ...shown.map((name) => `${name} (BM25)`)], ...lines]);
}

function describeUnanswerable({ questions, stemma, bm25 }: RecallRow): string {
  return `${count(questions, "question")} without an answer: ${stemma.tokens.toFixed(0)} tokens quoted, with bare BM25 ${bm25.tokens.toFixed(0)}.`;
}

/** A comparison with an earlier run as text. */
export function describeComparison({ differences, lost }: RecallComparison, path: string): string {
  const verdict = lost.length === 0 ? "No loss is certain." : `Certainly lost: ${lost.join(", ")}.`;
  const rows = withIntervals(differences, () => []);
  return `\nAgainst ${path}\n\n${columns([["MEASURE", "DIFFERENCE", "95 %"], ...rows])}\n${verdict}\n`;
}

function withIntervals(intervals: Intervals, cellsOf: (name: Measure) => string[]): string[][] {
  return MEASURES.flatMap((name) => {
    const [interval, cells] = [intervals[name], cellsOf(name)];
    if (interval === null) return cells.some((cell) => cell !== NONE) ? [[name, ...cells, "", ""]] : [];
    const { mean, low, high } = interval;
    return [[name, ...cells, signed(mean), `${signed(low)} … ${signed(high)}`]];
  });
}

/** How often a reranker was asked, as text. */
export function describeReranking({ asked, shortened, failed }: Reranking): string {
  const [some, none] = [shortened, failed].map((each) => each.toLocaleString("en"));
  return `\nReranked: ${count(asked, "search", "searches")}. Of ${some} only the first results were scored, of ${none} none.\n`;
}

/** A report of `stemma eval qa` as text. */
export function describeQa({ set, categories, total, version }: QaReport): string {
  const rows = [...categories, total].map(({ category, questions, correct, unclear, failed, tokens }) => {
    const numbers = [questions, unclear, failed].map((each) => each.toLocaleString("en"));
    return [category, numbers[0] ?? "", share(correct), ...numbers.slice(1), tokens.toFixed(0)];
  });
  const head = ["CATEGORY", "QUESTIONS", "CORRECT", "UNCLEAR", "FAILED", "TOKENS"];
  return `${set} · stemma ${version}\n\n${columns([head, ...rows])}`;
}

/** A measure that does not apply. */
const NONE = "–";

function share(value: number | null): string {
  return value === null ? NONE : value.toFixed(3);
}

function signed(value: number): string {
  return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`;
}
