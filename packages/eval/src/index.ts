export type { AskOptions } from "./haystack.js";
export { recallPage } from "./html.js";
export { type Interval, type Intervals, MEASURES, type Measure, type Measured } from "./measure.js";
export {
  type AskModel,
  evaluateQa,
  type QaOptions,
  type QaReport,
  type QaResult,
  type QaRow,
  type Verdict,
} from "./qa.js";
export {
  compareRecall,
  evaluateRecall,
  parseRecallReport,
  type QuestionResult,
  type RankedResult,
  type RankedSummary,
  type RecallComparison,
  type RecallOptions,
  type RecallReport,
  type RecallRow,
} from "./recall.js";
export type { EvalConversation, EvalQuestion, EvalSession, EvalSet, Many, PartOptions } from "./set.js";
export { readOwnQuestions } from "./sets/own.js";
export { EVAL_SETS, type EvalSetName, readEvalSet } from "./sets/read-set.js";
