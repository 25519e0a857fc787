export type { CompactContext, CompactFunction, CompactResult } from "./compaction/compact.js";
export type { ApproveWrite, ProposedWrite, WriteDecision } from "./context/approval.js";
export type {
  BlockSchema,
  ContextBlock,
  ContextBlockOptions,
  ContextBlockOptions as SessionContextOptions,
  ContextConfig,
} from "./context/block.js";
export { DEFAULT_MAX_TOKENS } from "./context/block.js";
export { parsePrompt, renderPrompt } from "./context/prompt.js";
export type {
  AppendOptions,
  ContextBlockProvider,
  ContextProvider,
  SearchProvider,
  SkillProvider,
  VersionedContextProvider,
  WritableContextProvider,
  WriteOptions,
} from "./context/provider.js";
export { isSearchProvider, isSkillProvider, isWritableProvider } from "./context/provider.js";
export { AgentContextProvider } from "./context/providers/agent-context.js";
export type { AgentSearchOptions } from "./context/providers/agent-search.js";
export { AgentSearchProvider } from "./context/providers/agent-search.js";
export { PostgresContextProvider, PostgresSearchProvider } from "./context/providers/postgres-search.js";
export type { R2SkillOptions, SkillBucket } from "./context/providers/r2-skills.js";
export { R2SkillProvider } from "./context/providers/r2-skills.js";
export type { ErrorCode } from "./errors.js";
export { ERROR_CODES, StemmaError } from "./errors.js";
export type { LearnBlock, LearnEdit, LearnEntry, LearnRequest, SkippedEdit } from "./learning/apply.js";
export type { ExtractRequest, LearnFunction, LearnOptions, TitleFunction } from "./learning/learn.js";
export { createLearnFunction } from "./learning/learn.js";
export type * from "./manager/options.js";
export { SessionManager } from "./manager/session-manager.js";
export type { HistoryMessage, HistoryMessagePart, SessionMessage, SessionMessagePart } from "./model/message.js";
export type { CompactionErrorHandler } from "./session/compaction-work.js";
export type {
  MessageChange,
  SessionErrorEvent,
  SessionEvent,
  SessionLearningEvent,
  SessionListener,
  SessionStatusEvent,
  SessionTitleEvent,
} from "./session/events.js";
export type * from "./session/known-tools.js";
export type { CompactAfterOptions, OnCompactionOptions, OnLearningOptions, SessionOptions } from "./session/options.js";
export type {
  AppendedMessage,
  DatedOptions,
  HistoryOptions,
  LenientHistory,
  ReadHistoryOptions,
  SearchResult,
  SessionProvider,
} from "./session/provider.js";
export type {
  ManagerSearchOptions,
  ManagerSearchPageOptions,
  SearchOptions,
  SearchPage,
  SearchPageOptions,
} from "./session/search-options.js";
export { Session } from "./session/session.js";
export { AgentSessionProvider, PostgresSessionProvider } from "./session/store-session-provider.js";
export type {
  TokenCounter,
  TokenCounter as SessionTokenCounter,
  TokenCounterInput,
  TokenCounterInput as SessionTokenCounterInput,
} from "./session/token-count.js";
export type { ContextExplanation, ContextPart } from "./session/turn/explain.js";
export type { PrefixBreak, TurnPage, TurnPageOptions, TurnSummary } from "./session/turn/log.js";
export type { ContextSize, PartSource } from "./session/turn/parts.js";
export type {
  PreparedTurn,
  PrepareTurnOptions,
  RecalledMessage,
  RecallOptions,
  RefreshReason,
  TurnRequest,
} from "./session/turn/request.js";
export type { Reverted, RevertedEntry, RevertedText } from "./session/undo/revert-from.js";
export type {
  AppendMessageOptions,
  Author,
  BlockScope,
  CheckOptions,
  CheckProblem,
  CheckReport,
  CheckRule,
  FoundEntry,
  FoundMessage,
  HistoryRowStat,
  ListedBlock,
  ListedEntry,
  MemoryOwner,
  MetadataValue,
  RecentHistory,
  RecentHistory as RecentHistoryResult,
  RedactFunction,
  Redaction,
  RedactWhere,
  RememberedVersion,
  SearchExplanation,
  SearchHit,
  SessionInfo,
  Store,
  StoreCapabilities,
  StoredCompaction,
  StoredVersion,
  TreeNode,
  TreePage,
  UsageRequest,
  UsageRow,
  UsageSum,
  VersionOptions,
  WriteOrigin,
} from "./storage/contract.js";
export type * from "./storage/embeddings/contract.js";
export type { PgClientLike, PostgresClient, PostgresConnection } from "./storage/postgres/client.js";
export { redactStore } from "./storage/redact/redact-store.js";
export type { SqlProvider } from "./storage/sqlite/agent-sql.js";
export type { ToolSchema } from "./tools/input-schema.js";
export type { SessionTool, SessionTools } from "./tools/tool.js";
