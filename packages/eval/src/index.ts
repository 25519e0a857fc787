export { bootstrap, type Interval, type Intervals } from "./bootstrap.js";
export type { AskOptions } from "./haystack.js";
export { MEASURES, type Measure, type Measured } from "./measure.js";
export {
  compareRecall,
  evaluateRecall,
  type RecallComparison,
  type RecallOptions,
  type RecallReport,
  type RecallRow,
} from "./recall.js";
export type { EvalConversation, EvalQuestion, EvalSession, EvalSet, Many, PartOptions } from "./set.js";
export { readOwn } from "./sets/own.js";
export { EVAL_SETS, type EvalSetName, readEvalSet } from "./sets/read-set.js";
