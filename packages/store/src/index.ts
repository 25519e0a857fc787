export { addTerm, type CheckDialect } from "./check/check-dialect.js";
export { checkable } from "./check/store-check.js";
export { consolidate } from "./consolidation/consolidate.js";
export type {
  ConsolidateOptions,
  Consolidation,
  EntryMerge,
  ExtractedMerges,
  MergeRequest,
  ProposedMerge,
  ToldUsage,
} from "./contract/consolidation.js";
export type {
  CheckOptions,
  CheckProblem,
  CheckReport,
  CheckRule,
  Erased,
  Pruned,
  Residue,
  RowCounts,
} from "./contract/erasing.js";
export {
  type EntryEnd,
  type EntryFact,
  type EntryFields,
  type EntryFilter,
  type EntryView,
  FACT_ORIGINS,
  type FactOrigin,
  type FieldFilter,
  type FilterScalar,
  holdsAt,
  SUBJECT_TAG,
  subjectOf,
  type VersionFact,
} from "./contract/facts.js";
export {
  checkSettings,
  type FoundMessage,
  type MetadataValue,
  type SearchHit,
  type SearchRequest,
  type SearchSettings,
} from "./contract/found.js";
export {
  type Author,
  type BlockKey,
  type BlockScope,
  DEFAULT_KEPT_VERSIONS,
  type EntryScope,
  type EntryStore,
  type FoundEntry,
  type ListEntriesOptions,
  type ListedBlock,
  type ListedEntry,
  type MemoryOwner,
  type MemoryScope,
  promptKey,
  type RememberedVersion,
  type SearchEntriesOptions,
  type StoredBlock,
  type StoredEntry,
  type StoredVersion,
  type VersionOptions,
  type WriteOrigin,
} from "./contract/memory.js";
export {
  type MethodRow,
  type Named,
  PART_METHODS,
  type PartMethods,
  SESSION_METHODS,
  STORE_METHODS,
} from "./contract/methods.js";
export type { AgentUsage, Observed, Observer } from "./contract/observer.js";
export type {
  HistoryRowStat,
  ReadOptions,
  RecentHistory,
  StoredMessage,
  StreamOptions,
  TreeNode,
  TreePage,
} from "./contract/reading.js";
export {
  LEARNING,
  type ListRecordsOptions,
  type RecordScope,
  type RecordStore,
  type StoredRecord,
  TURNS,
  type WriteRecordOptions,
} from "./contract/records.js";
export type { RedactFunction, Redaction, RedactWhere } from "./contract/redact.js";
export type {
  RemoteAnswer,
  RemoteCall,
  RemoteFailure,
  RemoteRequest,
  RemoteStreamAnswer,
} from "./contract/remote-protocol.js";
export type { SessionStore } from "./contract/session.js";
export type {
  CompactionSum,
  CompactionSumRequest,
  DueRequest,
  NewSession,
  SessionDates,
  SessionFilter,
  SessionInfo,
  SessionListRequest,
  SessionOrder,
  SessionRegistry,
  Usage,
  UsageRequest,
  UsageRow,
  UsageSum,
} from "./contract/session-registry.js";
export type { OnceOperation, OnceTogether, Store, StoreCapabilities } from "./contract/store.js";
export type { ImportedVector, KeptVector, VectorModel, VectorStore } from "./contract/vectors.js";
export { WriteGroup } from "./contract/write-group.js";
export type {
  AppendMessageOptions,
  AppendResult,
  BlockWrite,
  CompactionGuard,
  EntryCheck,
  EntryWrite,
  ImportedCompaction,
  ImportedMessage,
  ImportedTree,
  KeptWrite,
  MessageWrite,
  NewCompaction,
  ParentRef,
  RecordCheck,
  RecordWrite,
  StoredCompaction,
  WrittenIds,
} from "./contract/writing.js";
export type {
  EmbeddableStore,
  EmbeddedStore,
  Embedder,
  EmbedderOptions,
  EmbeddingModel,
  Embeddings,
  EmbedFunction,
} from "./embeddings/contract.js";
export { embeddable } from "./embeddings/embed-store.js";
export { EMBEDDER_TABLE, NO_MODEL, type VectorDialect, versionColumn } from "./embeddings/vector-bytes.js";
export type { AsyncConnection, Connection, SyncConnection, TransactionMode } from "./engine/connection.js";
export {
  type Appended,
  type ChosenSessions,
  type CorruptHandler,
  type Dialect,
  type FoundMatches,
  type FoundRow,
  INDEX_TABLES,
  type NativeOperations,
  type NumberedSession,
  type PathOptions,
  type RecentOptions,
  type RowRange,
  rankEntries,
  type SearchDialect,
  type SearchIndex,
  type SequenceMatches,
} from "./engine/dialect.js";
export { assertKnown, recordVersion } from "./engine/migrations.js";
export {
  all,
  type Condition,
  column,
  first,
  type Operation,
  oneNumber,
  type Row,
  rowsOf,
  run,
  runEach,
  type SqlValue,
  type Statement,
  type Together,
} from "./engine/operation.js";
export { withoutUnstorable } from "./engine/runner.js";
export { DATA_TABLES, SHARED_TABLES, tablesMissing } from "./engine/tables.js";
export { fieldsOf } from "./operations/memory/entry-fact.js";
export { EVERY } from "./operations/memory/entry-views.js";
export { RESERVED_LABELS } from "./operations/memory/records.js";
export { readContents } from "./operations/messages/content.js";
export { appendMessages, importMessages } from "./operations/messages/messages.js";
export { storedBytes } from "./operations/path/path.js";
export { owned } from "./operations/registry/owners.js";
export {
  APPENDS_UNDATED,
  isoNow,
  LATEST_CHANGE,
  MAX_NUMBER,
  messageNotFound,
  SPAN,
  sessionOf,
  skillsOf,
} from "./operations/registry/session-head.js";
export { cursorOf, isBehind, type ListPosition, parseCursor } from "./operations/registry/session-order.js";
export { type Marks, READ_MARKS, reindexSome } from "./operations/search/reindex.js";
export { MOST_NAMED } from "./operations/search/run-search.js";
export { copyCompactions, copyMessages, OLD_PREFIX } from "./operations/upgrade/upgrade.js";
export { redactLangChain, redactRecord } from "./redact/redact-records.js";
export { redactedObserver, redactedWith, redactStore } from "./redact/redact-store.js";
export type { RerankableStore, RerankerOptions, RerankFunction, RerankingModel } from "./rerank/rerankers.js";
export {
  assertEntryArguments,
  checkedEntries,
  ENTRY_SEARCH,
  ENTRY_VIEW,
  FACT_FIELDS,
  NOTED,
} from "./sql/entry-arguments.js";
export { completeKept, type KeptItem, readKept, writeKept } from "./sql/kept-items.js";
export { allOwners, allSessions, listAll, valuesIn } from "./sql/list-all.js";
export { type Outcome, observed, observedValues } from "./sql/observed.js";
export { fingerprintOf, numbersDone, type OnceCall } from "./sql/once-store.js";
export {
  assertScope,
  assertSessionFits,
  assertSessionId,
  assertSessionTexts,
  assertUserId,
  isScope,
  keyScope,
  UPGRADED_ROWS,
  userScope,
} from "./sql/session-id.js";
export { confining, refuseBackup } from "./sql/sql-calls.js";
export { type OpenStore, openSqlStore } from "./sql/sql-store.js";
export { assertStore, isStore, kindOfHost, orderOf, storeOf, wrapMade } from "./sql/store-of.js";
export { isDamage } from "./sqlite/error.js";
export type { SqlProvider } from "./sqlite/host-sql.js";
export { storeTime } from "./store-time.js";
