import { type Interval, MEASURES, type Measure } from "./measure.js";
import type { QuestionResult, RecallComparison, RecallReport, RecallRow } from "./recall.js";

/** Nothing in the page is run, and nothing is fetched. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'";

/** How many of the questions whose answer was not found are listed. */
const MISSED = 100;

/** The meaning of each measure, as the page explains it. */
const MEANINGS: Readonly<Record<Measure, string>> = {
  "R@5": "share of the messages with the answer among the first 5",
  "R@10": "… among the first 10",
  "R@50": "… among the first 50",
  "nDCG@10": "the same, where a higher place counts more",
  "any@5": "questions with one of these messages among the first 5",
  "any@10": "… among the first 10",
  "recall_all@5": "questions with all of them among the first 5",
  MRR: "1 ÷ the place of the first of them",
  "near@10": "questions with one of them, or the message beside it, among the first 10",
  quoted: "share of them that a prompt quotes within 1,000 tokens",
  "quoted in chat": "… in a chat, behind the question before this one and what was quoted for that",
  "session any@5": "questions with a session that holds the answer among the first 5 sessions",
  "session any@10": "… among the first 10 sessions",
  "session recall_all@5": "questions with all such sessions among the first 5",
};

/** A report as one HTML page, which needs no server and runs no script. */
export function recallPage(report: RecallReport, comparison: RecallComparison | null = null): string {
  const { total, categories, unanswerable, questions } = report;
  const missed = questions.filter((question) => question.answerable && isMissed(question));
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(report.set)}: what search finds</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${escapeHtml(report.set)}: what search finds</h1>
<p class="about">${[...aboutOf(report)].map(escapeHtml).join(" · ")}</p>
${comparison === null ? "" : comparisonHtml(comparison)}
<h2>Beside bare BM25</h2>
<p class="key"><span class="stemma">stemma</span><span class="bm25">bare BM25, an FTS5 table of SQLite</span></p>
${table(
  ["Measure", "stemma", "BM25", "Difference, 95 %"],
  MEASURES.flatMap((name) => measureRow(report, name)),
)}
${table(["", "stemma", "BM25"], costRows(report))}
${categories.length < 2 ? "" : `<h2>By category</h2>\n${categoryTable([...categories, total])}`}
${unanswerable === null ? "" : unanswerableHtml(unanswerable)}
${missed.length === 0 ? "" : missedHtml(missed)}
</main>
</body>
</html>
`;
}

function* aboutOf({ conversations, total, options, version }: RecallReport): Generator<string> {
  yield `${conversations.toLocaleString("en")} ${conversations === 1 ? "conversation" : "conversations"}`;
  yield `${total.questions.toLocaleString("en")} questions`;
  if (options.together) yield "all in one store";
  if (options.half !== undefined) yield `the ${options.half} half`;
  yield `stemma ${version}`;
}

function measureRow({ total, overBm25 }: RecallReport, name: Measure): string[][] {
  const [ours, bare, interval] = [total.stemma[name], total.bm25[name], overBm25[name]];
  if (ours === null) return [];
  const label = `<b>${name}</b><small>${MEANINGS[name]}</small>${bars(ours, bare ?? 0)}`;
  return [[label, share(ours), share(bare), interval === null ? "" : difference(interval)]];
}

function bars(ours: number, bare: number): string {
  const bar = (kind: string, value: number) => `<i class="${kind}" style="width:${(value * 100).toFixed(1)}%"></i>`;
  return `<span class="bars">${bar("stemma", ours)}${bar("bm25", bare)}</span>`;
}

function costRows({ total: { stemma, bm25 } }: RecallReport): string[][] {
  const row = (label: string, of: (summary: typeof stemma) => string) => [`<b>${label}</b>`, of(stemma), of(bm25)];
  return [
    row("p50 of a search", ({ p50 }) => `${p50.toFixed(1)} ms`),
    row("p95 of a search", ({ p95 }) => `${p95.toFixed(1)} ms`),
    row("tokens quoted", ({ tokens }) => tokens.toFixed(0)),
  ];
}

const BY_CATEGORY = ["R@5", "R@10", "MRR", "near@10", "quoted", "session any@5"] as const satisfies readonly Measure[];

function categoryTable(rows: readonly RecallRow[]): string {
  const shown = BY_CATEGORY.filter((name) => rows.some(({ stemma }) => stemma[name] !== null));
  const cells = rows.map(({ category, questions, stemma, bm25 }) => [
    escapeHtml(category),
    questions.toLocaleString("en"),
    ...shown.map((name) => `${share(stemma[name])}<small>${share(bm25[name])}</small>`),
  ]);
  return table(["Category", "Questions", ...shown], cells);
}

function unanswerableHtml({ questions, stemma, bm25 }: RecallRow): string {
  const tokens = `A prompt quotes ${stemma.tokens.toFixed(0)} tokens on average, with bare BM25 ${bm25.tokens.toFixed(0)}.`;
  return `<h2>Questions without an answer</h2>\n<p>${questions.toLocaleString("en")} ask for what nobody said. ${tokens}</p>`;
}

function comparisonHtml({ differences, lost }: RecallComparison): string {
  const verdict =
    lost.length === 0
      ? '<p class="verdict">No loss is certain.</p>'
      : `<p class="verdict lost">Certainly lost: ${lost.join(", ")}.</p>`;
  const rows = MEASURES.flatMap((name) => {
    const interval = differences[name];
    return interval === null ? [] : [[`<b>${name}</b>`, difference(interval)]];
  });
  return `<h2>Against the earlier run</h2>\n${verdict}\n${table(["Measure", "Difference, 95 %"], rows)}`;
}

/** True where neither message nor session was found. */
function isMissed({ stemma }: QuestionResult): boolean {
  return (stemma["any@10"] ?? stemma["session any@10"]) === 0;
}

function missedHtml(missed: readonly QuestionResult[]): string {
  const rows = missed.slice(0, MISSED).map(({ text, category, conversation }) => [text, category, conversation]);
  const more = missed.length > MISSED ? `, the first ${MISSED} of them` : "";
  const list = table(
    ["Question", "Category", "Conversation"],
    rows.map((row) => row.map(escapeHtml)),
    "texts",
  );
  return `<details><summary>${missed.length.toLocaleString("en")} questions found nothing among the first 10${more}</summary>${list}</details>`;
}

/** Cells are HTML. */
function table(head: readonly string[], rows: readonly (readonly string[])[], kind = "figures"): string {
  const line = (cells: readonly string[], tag: string) =>
    `<tr>${cells.map((cell) => `<${tag}>${cell}</${tag}>`).join("")}</tr>`;
  const body = rows.map((row) => line(row, "td")).join("\n");
  return `<div class="scroll"><table class="${kind}"><thead>${line(head, "th")}</thead><tbody>\n${body}\n</tbody></table></div>`;
}

function share(value: number | null): string {
  return value === null ? "–" : value.toFixed(3);
}

function difference({ mean, low, high }: Interval): string {
  return `${signed(mean)}<small>${signed(low)} … ${signed(high)}</small>`;
}

function signed(value: number): string {
  return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`;
}

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => ENTITIES[character] as string);
}

const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; --line: light-dark(#d9dde3, #31363d); --dim: light-dark(#5b6470, #9aa4b1);
  --stemma: light-dark(#2563c9, #6ea8ff); --bm25: light-dark(#b5bcc6, #565e69); }
body { margin: 0; background: light-dark(#fff, #16181c); color: light-dark(#1c1f24, #e6e8eb); }
main { max-width: 60rem; margin: 0 auto; padding: 2rem 1rem 4rem; }
h1 { font-size: 1.6rem; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 2.25rem 0 .5rem; }
.about, small { color: var(--dim); }
.about { margin: .25rem 0 0; }
.key span { margin-right: 1.25rem; font-size: .85rem; }
.key span::before { content: ""; display: inline-block; width: .8rem; height: .8rem; margin-right: .4rem; border-radius: .2rem; vertical-align: -.1rem; }
.key .stemma::before, i.stemma { background: var(--stemma); }
.key .bm25::before, i.bm25 { background: var(--bm25); }
.scroll { overflow-x: auto; margin: .5rem 0 1rem; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { padding: .45rem .6rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
th { font-size: .75rem; font-weight: 600; color: var(--dim); white-space: nowrap; }
.figures th:not(:first-child), .figures td:not(:first-child) { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
td small { display: block; font-size: .75rem; line-height: 1.35; white-space: normal; min-width: 7rem; }
.figures td:not(:first-child) small { min-width: 0; white-space: nowrap; }
.bars { display: block; max-width: 24rem; padding-top: .3rem; }
.bars i { display: block; height: .4rem; margin-bottom: .15rem; border-radius: 0 .2rem .2rem 0; min-width: 1px; }
.texts td:first-child { min-width: 14rem; overflow-wrap: anywhere; }
.verdict { padding: .6rem .9rem; border: 1px solid var(--line); border-radius: .5rem; }
.verdict.lost { border-color: light-dark(#c62f2f, #ff8a8a); color: light-dark(#a51d1d, #ff9c9c); }
details { margin-top: 2rem; }
summary { cursor: pointer; font-weight: 600; }
@media (max-width: 40rem) {
  th, td { padding: .4rem .35rem; }
  .figures th:not(:first-child) { white-space: normal; }
  .figures td:not(:first-child) small { white-space: normal; }
}
`;
