export type { ApproveWrite, ProposedWrite, WriteDecision } from "./context/approval.js";
export {
  type BlockSchema,
  type ContextBlock,
  type ContextBlockOptions,
  type ContextConfig,
  DEFAULT_MAX_TOKENS,
} from "./context/block.js";
export { parsePrompt, renderBlock, renderPrompt } from "./context/prompt.js";
export {
  type AppendOptions,
  type ContextBlockProvider,
  type ContextProvider,
  isSearchProvider,
  isSkillProvider,
  isWritableProvider,
  type SearchProvider,
  type SkillProvider,
  type VersionedContextProvider,
  type WritableContextProvider,
  type WriteOptions,
} from "./context/provider.js";
export {
  type AgentSearchOptions,
  AgentSearchProvider,
  type InScope,
  type ListScopesOptions,
  type RememberOptions,
  type ScopedEntry,
} from "./context/providers/agent-search.js";
export {
  type EntryScopeOptions,
  type NamedScope,
  namedScopes,
  scopeNamed,
  scopeToWrite,
} from "./context/providers/entry-scopes.js";
export { PostgresContextProvider, PostgresSearchProvider } from "./context/providers/postgres-search.js";
export { type R2SkillOptions, R2SkillProvider, type SkillBucket } from "./context/providers/r2-skills.js";
export { AgentContextProvider } from "./context/providers/store-context.js";
export type { SkippedEdit } from "./learning/apply.js";
export type { LearnBlock, LearnEdit, LearnEntry, LearnRequest } from "./learning/edits.js";
export {
  createLearnFunction,
  type Extracted,
  type ExtractRequest,
  type GeneratedTitle,
  type LearnFunction,
  type LearnOptions,
  type LearnResult,
  type LearnUsage,
  type TitleFunction,
} from "./learning/learn.js";
export { LEARN_DUE, type LearnDueOptions, type LearnDueReceipt } from "./manager/learn-due.js";
export type {
  EraseOptions,
  ErasureReceipt,
  ManagedContextOptions,
  NewSessionOptions,
  ProviderForSession,
  RetainOptions,
  RetentionReceipt,
  SessionListOptions,
  SessionManagerOptions,
  SessionUpdate,
} from "./manager/manager-options.js";
export { searchableHistory } from "./manager/session-cache.js";
export { SessionManager } from "./manager/session-manager.js";
export { assertAnySession, assertSession, hasMethod, otherCopy } from "./session/assert-session.js";
export type { CompactionErrorHandler } from "./session/compaction/compactor.js";
export type { TokenCounter, TokenCounterInput } from "./session/compaction/token-count.js";
export type {
  MessageChange,
  SessionErrorEvent,
  SessionEvent,
  SessionLearningEvent,
  SessionListener,
  SessionStatusEvent,
  SessionTitleEvent,
} from "./session/events.js";
export { storeNeeded } from "./session/host.js";
export type {
  DocumentBlockOptions,
  DocumentOf,
  HasDocument,
  HasTools,
  ProvidedBlockOptions,
  ToolsFor,
  ToolsOf,
  WiredBlockOptions,
} from "./session/known-tools.js";
export type { CompactAfterOptions, OnCompactionOptions, OnLearningOptions, SessionOptions } from "./session/options.js";
export type {
  AppendedMessage,
  Awaitable,
  DatedOptions,
  HistoryOptions,
  LenientHistory,
  ReadHistoryOptions,
  SearchResult,
  SessionProvider,
} from "./session/own-provider/provider.js";
export { AgentSessionProvider, PostgresSessionProvider } from "./session/own-provider/store-session-provider.js";
export { RECALL_HITS, recallFrom, recallOfHits } from "./session/recall/recall.js";
export {
  RECALL,
  type Recalled,
  type RecalledEntry,
  type RecalledEntryPlace,
  type RecalledMessage,
  type RecalledMessagePlace,
  type RecalledPlace,
  type RecallOptions,
  type RecallResult,
  type Recollection,
} from "./session/recall/recall-options.js";
export {
  isUnderWay,
  type KnownRun,
  Renewal,
  RunRecord,
  type RunState,
  type RunStatus,
  type ToldTime,
} from "./session/run-record.js";
export type {
  Exchange,
  ExchangeMessage,
  ManagerSearchGroupsOptions,
  SearchGroup,
  SearchGroupsOptions,
} from "./session/search-groups.js";
export type {
  ManagerSearchOptions,
  ManagerSearchPageOptions,
  SearchOptions,
  SearchPage,
  SearchPageOptions,
} from "./session/search-options.js";
export { coreOf, Session } from "./session/session.js";
export type { ContextExplanation, ContextPart } from "./session/turn/explain.js";
export type { PrefixBreak, RecallCost, TurnPage, TurnPageOptions, TurnSummary } from "./session/turn/log.js";
export { parseNote } from "./session/turn/notes.js";
export {
  type ContextSize,
  type PartSource,
  PREPARE_TURN,
  type PreparedTurn,
  type PrepareTurnOptions,
  type RefreshReason,
  type TurnRequest,
} from "./session/turn/request.js";
export { StepUpdates } from "./session/turn/turns.js";
export type { Reverted, RevertedEntry, RevertedText } from "./session/undo/revert-from.js";
export { type UserEntries, userEntriesOf } from "./session/user-entries.js";
export { snippet } from "./tools/format-hits.js";
export { readTimes, type SearchTimes, TIMES } from "./tools/times.js";
export {
  convert,
  createTool,
  type ObjectSchema,
  objectSchema,
  readInput,
  refusal,
  type SessionTool,
  type SessionTools,
  type ToolCallOptions,
  type ToolSchema,
  toolSchema,
  type ValueOf,
} from "./tools/tool.js";
