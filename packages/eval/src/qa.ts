import { check, defineOptions, estimateStringTokens, invalid, packageVersion, reasonOf } from "@stemma/model";
import { type Asking, type AskOptions, type Haystack, haystacks, QUOTE_TOKENS } from "./haystack.js";
import { groupBy } from "./measure.js";
import { type EvalQuestion, type EvalSet, isAnswerable } from "./set.js";

/** Gives what a model says to a prompt. */
export type AskModel = (prompt: string) => Promise<string>;

export interface QaOptions extends AskOptions {
  /** Answers a question from what the search found. */
  reader: AskModel;
  /** Says whether an answer is correct, with a text that begins with yes or no. */
  judge: AskModel;
  /** Estimated tokens of what the reader is shown. Default 1,000. */
  maxTokens?: number | undefined;
  /** How many questions are asked at once. Default 4. */
  concurrency?: number | undefined;
  /** Called after each question with how many were asked by then. */
  onQuestion?: ((asked: number) => void) | undefined;
}

/** The end of a question: `unclear` where the judge said neither yes nor no, `failed` where a model did not answer. */
export type Verdict = "correct" | "wrong" | "unclear" | "failed";

export interface QaResult {
  readonly conversation: string;
  readonly category: string;
  readonly text: string;
  readonly expected: string | null;
  readonly verdict: Verdict;
  /** The text that the reader gave; of a failure the reason. */
  readonly answer: string;
  /** Estimated tokens of what the reader was shown. */
  readonly tokens: number;
}

export interface QaRow {
  readonly category: string;
  readonly questions: number;
  /** The share of correct answers among those that were judged: what is unclear counts as wrong, what failed does not count. */
  readonly correct: number | null;
  readonly unclear: number;
  readonly failed: number;
  /** The mean over the questions. */
  readonly tokens: number;
}

/** How well a model answers with what a store's search finds. It is plain JSON. */
export interface QaReport {
  readonly format: "stemma eval qa 1";
  readonly version: string;
  readonly set: string;
  readonly total: QaRow;
  readonly categories: readonly QaRow[];
  readonly questions: readonly QaResult[];
}

const OPTIONS = defineOptions<QaOptions>({
  reader: check.required(check.callable),
  judge: check.required(check.callable),
  maxTokens: check.positive("tokens"),
  concurrency: check.whole(1),
  openStore: check.callable,
  together: check.flag,
  limitConversations: check.whole(1),
  half: check.oneOf("dev", "test"),
  onQuestion: check.callable,
});

/** So many failures in a row end a run: the model is not there. */
const FAILURES = 5;

/**
 * Lets a model answer the questions of a set from what `prepareTurn` would quote of a store, and another one judge the answers. Asked is
 * what the set has an answer for, and what has none: there the correct answer is to say so. Errors: `INVALID_ARGUMENT` also for a set
 * without such questions; what a model failed with, where it fails five times in a row.
 */
export async function evaluateQa(set: EvalSet, options: QaOptions): Promise<QaReport> {
  OPTIONS.assert(options, "evaluateQa()");
  const { concurrency = 4, onQuestion } = options;
  const questions: QaResult[] = [];
  let failures = 0;
  for await (const haystack of haystacks(set, options, false)) {
    const asking = haystack.asking.filter(({ question }) => question.answer !== undefined || !isAnswerable(question));
    for (let start = 0; start < asking.length; start += concurrency) {
      const some = asking.slice(start, start + concurrency).map((each) => askOne(haystack, each, options));
      for (const { result, error } of await Promise.all(some)) {
        questions.push(result);
        failures = result.verdict === "failed" ? failures + 1 : 0;
        if (failures === FAILURES) throw error;
        onQuestion?.(questions.length);
      }
    }
  }
  if (questions.length === 0) throw invalid("The set holds no question whose answer it tells.", { set: set.name });
  const byCategory = groupBy(questions, ({ category }) => category);
  return {
    format: "stemma eval qa 1",
    version: packageVersion,
    set: set.name,
    total: rowOf("all", questions),
    categories: [...byCategory.keys()].sort().map((name) => rowOf(name, byCategory.get(name) ?? [])),
    questions,
  };
}

async function askOne(haystack: Haystack, asking: Asking, { reader, judge, maxTokens = QUOTE_TOKENS }: QaOptions) {
  const { conversation, question } = asking;
  const { quote } = await haystack.ask(asking, null, maxTokens);
  const result = {
    conversation,
    category: question.category,
    text: question.text,
    expected: question.answer ?? null,
    tokens: estimateStringTokens(quote),
  };
  try {
    const answer = await reader(readerPrompt(question, quote));
    const verdict = verdictOf(await judge(judgePrompt(question, answer)));
    return { result: { ...result, answer, verdict } };
  } catch (error) {
    return { result: { ...result, answer: reasonOf(error), verdict: "failed" as const }, error };
  }
}

function readerPrompt({ text, askedAt }: EvalQuestion, quote: string): string {
  const when = askedAt === undefined ? "" : `It is ${askedAt.toISOString().slice(0, 16).replace("T", " ")} (UTC).\n`;
  return `Answer the question from the messages below, which were found in earlier conversations. Answer in one or two sentences. If the messages do not hold the answer, say that you do not know.

${quote === "" ? "(No message was found.)" : quote}

${when}Question: ${text}`;
}

function judgePrompt(question: EvalQuestion, answer: string): string {
  const rule = isAnswerable(question)
    ? `The correct answer: ${question.answer}\nIs the answer below correct? It may be longer or worded differently, but must say the same and contradict nothing.`
    : "The conversations do not hold the answer. The answer below is correct if it says that this is not known, and wrong if it claims to know it.";
  return `You judge an answer to a question. Reply with "yes" if it is correct and "no" if it is wrong, and nothing else.

Question: ${question.text}
${rule}

The answer: ${answer}`;
}

function verdictOf(text: string): Verdict {
  const [, word] = /^[^\p{L}]*(yes|no)(?!\p{L})/iu.exec(text) ?? [];
  if (word === undefined) return "unclear";
  return word.toLowerCase() === "yes" ? "correct" : "wrong";
}

function rowOf(category: string, results: readonly QaResult[]): QaRow {
  const count = (verdict: Verdict) => results.filter((result) => result.verdict === verdict).length;
  const judged = results.length - count("failed");
  return {
    category,
    questions: results.length,
    correct: judged === 0 ? null : count("correct") / judged,
    unclear: count("unclear"),
    failed: count("failed"),
    tokens: results.reduce((sum, { tokens }) => sum + tokens, 0) / results.length,
  };
}
