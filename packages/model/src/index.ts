export {
  alignBoundaryBackward,
  alignBoundaryForward,
  findTailCutByTokens,
  findTailStart,
  sanitizeToolPairs,
  type TailOptions,
} from "./compaction/boundary.js";
export {
  type CompactContext,
  type CompactFunction,
  type CompactOptions,
  type CompactResult,
  createCompactFunction,
  type SummarizeFunction,
  type SummaryModel,
} from "./compaction/compact.js";
export { enforceRowSizeLimit } from "./compaction/row-size.js";
export { shrinkJson, truncateText } from "./compaction/shrink.js";
export {
  buildSummaryPrompt,
  computeSummaryBudget,
  describeMessages,
  escapeMarkers,
  marker,
} from "./compaction/summary.js";
export {
  type CompactTokenCounter,
  type ContextTokenCounter,
  type CountedInput,
  type CounterErrorHandler,
  countOrEstimate,
} from "./compaction/token-counter.js";
export { type TruncateOptions, truncateOlderMessages } from "./compaction/truncate.js";
export {
  ERROR_CODES,
  type ErrorCode,
  invalid,
  invalidRange,
  kindOf,
  leafMoved,
  messageChanged,
  messageExists,
  noCompaction,
  noMessage,
  noParent,
  packageVersion,
  quote,
  reasonOf,
  StemmaError,
  shorten,
  staleRange,
} from "./errors.js";
export { type BodyLimit, readBodyText, readJsonObject, untilEnd } from "./lib/bodies.js";
export {
  atOnce,
  beginWork,
  forEachYielding,
  inPieces,
  isYieldDue,
  mapped,
  type Pieces,
  yieldIfDue,
  yieldNow,
} from "./lib/event-loop.js";
export {
  decodeJson,
  encodeJson,
  findJson,
  findJsonArray,
  findJsonObject,
  isJsonObject,
  isTooDeep,
  type JsonObject,
  jsonCopy,
  sameJson,
  setField,
} from "./lib/json.js";
export { once, perObject, unlessAborted, withParts } from "./lib/once.js";
export * as check from "./lib/option-table.js";
export {
  assertArgument,
  assertFunction,
  assertOptions,
  assertText,
  type Check,
  type Checks,
  defineFields,
  defineOptions,
  type OptionTable,
} from "./lib/option-table.js";
export { type Deferred, defer, type Locks, Queue, queueOf, sleep } from "./lib/queue.js";
export { Recent } from "./lib/recent.js";
export { parseTagged, stringifyAny, stringifyTagged } from "./lib/tagged-json.js";
export { LONGEST_TIMER, raceWithTimer } from "./lib/time-limit.js";
export { appendText, assertBudget, foldLabel, overBudget } from "./messages/block-text.js";
export {
  assertEncodable,
  decodeMessage,
  type EncodedMessage,
  encodeMessage,
  foreignContent,
  isMarked,
  MARK,
  measureMessage,
  PendingMessage,
  splitContent,
} from "./messages/codec.js";
export { applyCompactions, selectCompactions, summaryMessage } from "./messages/compactions.js";
export { keyOfContent, keyOfTitle } from "./messages/entry-key.js";
export { packFrames, unpackFrames } from "./messages/frames.js";
export { fromBase64, isInlineMedia, mediaTypeOf, toBase64 } from "./messages/media.js";
export {
  assertMessage,
  contentForParts,
  givenMessage,
  givenMessages,
  type HistoryMessage,
  type HistoryMessagePart,
  isSummary,
  isSummaryMessage,
  jsonBytes,
  MOST_AT_ONCE,
  reservedId,
  type SessionMessage,
  type SessionMessagePart,
  SUMMARY_ID_PREFIX,
  takeRecent,
  takeSerialised,
} from "./messages/message.js";
export {
  applyMergePatch,
  givenMetadata,
  isStoredMetadata,
  mergeMetadata,
  metadataOfFolder,
  parseMetadata,
  type SessionMetadata,
  splitMetadata,
} from "./messages/session-metadata.js";
export { digestMessage, digestRange, sha256, sha256Bytes } from "./messages/sha256.js";
export {
  applySkillChange,
  createLoadFinder,
  hideUnloaded,
  type LoadFinder,
  NO_SKILLS,
  recordLoad,
  recordUnload,
  type SkillChange,
  type SkillState,
} from "./messages/skill-view.js";
export {
  assertFits,
  assertStorableText,
  FIRST_TIME,
  isStorableText,
  NAME_LIMITS,
  nameOf,
  sendable,
  sendableMessage,
  sendableText,
  storableText,
  utf8Length,
} from "./messages/storable-text.js";
export { takenBack } from "./messages/taken-back.js";
export {
  cut,
  documentOf,
  embeddedText,
  isoTime,
  isStoredTime,
  searchableText,
  searchedText,
  senderName,
} from "./messages/text.js";
export {
  CHARS_PER_TOKEN,
  estimateMessageTokens,
  estimateStringTokens,
  estimateTokens,
  estimateTokensInPieces,
  TOKENS_PER_MESSAGE,
  WORDS_TOKEN_MULTIPLIER,
} from "./messages/tokens.js";
export {
  answeredNow,
  formatDuration,
  INTERRUPTED,
  isInterrupted,
  isSettled,
  isToolPart,
  readToolPart,
  type SettledFields,
  settleToolCalls,
  type ToolCallPart,
  ToolClock,
  type ToolPart,
  toolMilliseconds,
  toolNameOf,
  withoutToolTimes,
} from "./messages/tool-parts.js";
export { bestStretch, snippetOfStretch } from "./search/best-stretch.js";
export { compare, joinedTerms, type Run } from "./search/joined-terms.js";
export { parseQuery, quotedFrom, type SearchQuery } from "./search/query.js";
export { MOST_QUERY } from "./search/query-length.js";
export { joinResults, quoteField, quoteResult, quoteWord } from "./search/quoted-results.js";
export {
  addressOfKey,
  COUNTED,
  FEWEST,
  keyOf,
  type Matches,
  messagesOf,
  NEAR,
  nearMessages,
  needOthers,
  neighboursOf,
  RAREST,
  type Ranked,
  type RowAddress,
  rankMatches,
  rarityOf,
  type ScopeSize,
  scoreBy,
  scoreIn,
  timesBy,
  withUsual,
} from "./search/rank.js";
export {
  type ByMeaning,
  byTurns,
  Distribution,
  explainResult,
  fuseRankings,
  type SearchExplanation,
  withReasons,
} from "./search/score-fusion.js";
export { isTelling, tellingQuery } from "./search/small-talk.js";
export { beginning, excerpt, holdsMatch, markedSnippet } from "./search/snippet.js";
export { documentTerms, queryTerms, type TermSequences } from "./search/terms.js";
