export {
  alignBoundaryBackward,
  alignBoundaryForward,
  findTailCutByTokens,
  findTailStart,
  type TailOptions,
} from "../compaction/boundary.js";
export type { SummarizeFunction, SummaryModel } from "../compaction/compact.js";
export {
  type CompactContext,
  type CompactFunction,
  type CompactOptions,
  type CompactResult,
  createCompactFunction,
} from "../compaction/compact.js";
export { buildSummaryPrompt, computeSummaryBudget } from "../compaction/summary.js";
export type {
  CompactTokenCounter,
  ContextTokenCounter,
  CountedInput,
  CounterErrorHandler,
} from "../compaction/token-counter.js";
export { sanitizeToolPairs } from "../compaction/tool-pairs.js";
export { isSummaryMessage as isCompactionMessage, SUMMARY_ID_PREFIX as COMPACTION_PREFIX } from "../model/message.js";
