import { check, defineOptions, estimateStringTokens, invalid, isJsonObject, packageVersion } from "@stemma/model";
import { type Answered, type Asked, type AskOptions, type Haystack, haystacks } from "./haystack.js";
import { bootstrap, groupBy, type Intervals, MEASURES, type Measure, type Measured, measure } from "./measure.js";
import { type EvalSet, isAnswerable, type PartOptions } from "./set.js";

export interface RecallOptions extends AskOptions {
  /** Called after each question with how many were asked by then. */
  onQuestion?: ((asked: number) => void) | undefined;
}

/** A question, measured with one ranking. */
export interface RankedResult extends Measured {
  /** Estimated tokens of what a model would be shown. */
  readonly tokens: number;
  readonly milliseconds: number;
}

/** A question, and what both rankings got for it. */
export interface QuestionResult {
  readonly conversation: string;
  readonly category: string;
  readonly text: string;
  /** False where the conversation does not hold what is asked for: then only `tokens` says something. */
  readonly answerable: boolean;
  readonly stemma: RankedResult;
  readonly bm25: RankedResult;
}

/** Means over questions; null for a measure that none of them has. */
export interface RankedSummary extends Measured {
  readonly tokens: number;
  /** Milliseconds of a search: half of them, and 95 of 100, took no longer. */
  readonly p50: number;
  readonly p95: number;
}

/** The questions of a category, measured with both rankings. */
export interface RecallRow {
  readonly category: string;
  readonly questions: number;
  readonly stemma: RankedSummary;
  readonly bm25: RankedSummary;
}

/** How much a store's search finds of a set. It is plain JSON. */
export interface RecallReport {
  readonly format: "stemma eval recall 2";
  readonly version: string;
  readonly set: string;
  readonly options: Pick<AskOptions, "together"> & PartOptions;
  readonly conversations: number;
  /** The questions that have an answer, all of them together. */
  readonly total: RecallRow;
  readonly categories: readonly RecallRow[];
  /** The questions without an answer; null for none. */
  readonly unanswerable: RecallRow | null;
  /** Estimated tokens that a prompt quotes for small talk, such as "thanks", on average. */
  readonly smallTalk: number;
  /** How much the store finds more than bare BM25. */
  readonly overBm25: Intervals;
  readonly questions: readonly QuestionResult[];
}

const FORMAT = "stemma eval recall 2";

const OPTIONS = defineOptions<RecallOptions>({
  openStore: check.callable,
  together: check.flag,
  limitConversations: check.whole(1),
  half: check.oneOf("dev", "test"),
  onQuestion: check.callable,
});

/**
 * Asks the questions of a set, as they are written, and measures what the search of a store finds, beside the BM25 of a bare FTS5
 * table. Each conversation has a store of its own, unless they are put `together`. Errors: `INVALID_ARGUMENT` also for a set, or a
 * part of one, without questions that have an answer; those of the store.
 */
export async function evaluateRecall(set: EvalSet, options: RecallOptions = {}): Promise<RecallReport> {
  OPTIONS.assert(options, "evaluateRecall()");
  const questions: QuestionResult[] = [];
  const smallTalk: number[] = [];
  for await (const haystack of haystacks(set, options, true)) {
    smallTalk.push(await haystack.smallTalk());
    let before: Asked | null = null;
    for (const asking of haystack.asking) {
      const answered: Answered = await haystack.ask(asking, before);
      before = { ...asking, answered };
      questions.push(resultOf(haystack, before));
      options.onQuestion?.(questions.length);
    }
  }
  return reportOf(set, options, questions, meanOf(smallTalk) ?? 0);
}

function resultOf(haystack: Haystack, asked: Asked): QuestionResult {
  const { conversation, question, answered: ours } = asked;
  const rankedOf = (answered: Answered): RankedResult => ({
    ...measure(question, answered, haystack.placesOf(asked)),
    tokens: estimateStringTokens(answered.quote),
    milliseconds: answered.milliseconds,
  });
  return {
    conversation,
    category: question.category,
    text: question.text,
    answerable: isAnswerable(question),
    stemma: rankedOf(ours),
    bm25: rankedOf(haystack.askBm25(asked)),
  };
}

function reportOf(set: EvalSet, options: RecallOptions, questions: QuestionResult[], smallTalk: number): RecallReport {
  const { together = false, limitConversations, half } = options;
  const answerable = questions.filter((question) => question.answerable);
  const others = questions.filter((question) => !question.answerable);
  if (answerable.length === 0) {
    const part = half === undefined ? "" : `, or its ${half} half,`;
    throw invalid(`The set${part} holds no question that has an answer.`, { set: set.name });
  }
  const byCategory = groupBy(answerable, ({ category }) => category);
  return {
    format: FORMAT,
    version: packageVersion,
    set: set.name,
    options: { together, limitConversations, half },
    conversations: new Set(questions.map(({ conversation }) => conversation)).size,
    total: rowOf("all", answerable),
    categories: [...byCategory.keys()].sort().map((name) => rowOf(name, byCategory.get(name) ?? [])),
    unanswerable: others.length === 0 ? null : rowOf("unanswerable", others),
    smallTalk,
    overBm25: bootstrap(
      answerable.map(({ conversation, stemma, bm25 }) => ({ conversation, before: bm25, after: stemma })),
    ),
    questions,
  };
}

function rowOf(category: string, questions: readonly QuestionResult[]): RecallRow {
  return {
    category,
    questions: questions.length,
    stemma: summaryOf(questions.map(({ stemma }) => stemma)),
    bm25: summaryOf(questions.map(({ bm25 }) => bm25)),
  };
}

function summaryOf(results: readonly RankedResult[]): RankedSummary {
  const means = MEASURES.map((name) => [name, meanOf(results.flatMap((result) => result[name] ?? []))]);
  const times = results.map(({ milliseconds }) => milliseconds).sort((a, b) => a - b);
  const at = (share: number) => times[Math.ceil(share * times.length) - 1] ?? 0;
  const tokens = meanOf(results.map((result) => result.tokens)) ?? 0;
  return { ...(Object.fromEntries(means) as Measured), tokens, p50: at(0.5), p95: at(0.95) };
}

function meanOf(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** How much more is found than in an earlier run, and the measures in which certainly less is. */
export interface RecallComparison {
  readonly differences: Intervals;
  /** The measures whose interval lies wholly below 0. */
  readonly lost: readonly Measure[];
}

/** A report that was written as JSON. Errors: `INVALID_ARGUMENT` for what is none. */
export function parseRecallReport(value: unknown): RecallReport {
  if (isJsonObject(value) && value.format === FORMAT && Array.isArray(value.questions))
    return value as unknown as RecallReport;
  throw invalid("It is no report of `stemma eval recall` of this version.");
}

/**
 * Compares a report with an earlier one of the same questions, by the paired bootstrap. A loss is certain where 95 % of the draws
 * have one. Errors: `INVALID_ARGUMENT` for what is no report, or one of other questions.
 */
export function compareRecall(report: RecallReport, before: RecallReport): RecallComparison {
  const earlier = parseRecallReport(before).questions.filter(({ answerable }) => answerable);
  const now = report.questions.filter(({ answerable }) => answerable);
  const isSame = (a: QuestionResult, b: QuestionResult | undefined) =>
    a.text === b?.text && a.conversation === b.conversation;
  if (earlier.length !== now.length || !now.every((question, index) => isSame(question, earlier[index]))) {
    const message = `The earlier run asked other questions: ${earlier.length} of ${before.set}, this one ${now.length} of ${report.set}. Run both with the same set and options.`;
    throw invalid(message);
  }
  const pairs = now.map(({ conversation, stemma }, index) => {
    return { conversation, before: (earlier[index] as QuestionResult).stemma, after: stemma };
  });
  const differences = bootstrap(pairs);
  return { differences, lost: MEASURES.filter((name) => (differences[name]?.high ?? 0) < 0) };
}
