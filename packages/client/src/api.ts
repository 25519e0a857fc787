// Made from packages/server/openapi.json by scripts/client-types.mjs. Do not change it by hand.
import type { HistoryMessage } from "@stemma/model";

/** `Token` of the REST API. */
export type Token = { token: string; expiresAt: string };

/** `ApiKeyList` of the REST API. */
export type ApiKeyList = { data: ApiKey[]; nextCursor: string | null };

/** `ApiKey` of the REST API. */
export type ApiKey = {
  id: string;
  name: string;
  access: "memory" | "admin" | "mint";
  createdAt: string;
  tenant?: string | undefined;
  project?: string | undefined;
  keys?: string[] | undefined;
  readOnly?: boolean | undefined;
  userId?: string | undefined;
  expiresAt?: string | undefined;
  quota?: Quota | undefined;
};

/** `Quota` of the REST API. */
export type Quota = {
  requestsPerMinute?: number | undefined;
  requestsPerDay?: number | undefined;
  writesPerDay?: number | undefined;
  bytesPerDay?: number | undefined;
};

/** `MadeApiKey` of the REST API. */
export type MadeApiKey = ApiKey & { key: string };

/** `QuotaUseList` of the REST API. */
export type QuotaUseList = { data: QuotaUse[]; nextCursor: string | null };

/** `QuotaUse` of the REST API. */
export type QuotaUse = {
  quota: "requestsPerMinute" | "requestsPerDay" | "writesPerDay" | "bytesPerDay";
  /** Where all keys of the tenant use it up together. */
  of?: "tenant" | undefined;
  limit: number;
  used: number;
  resetsAt: string;
};

/** `Session` of the REST API. */
export type Session = {
  id: string;
  name: string;
  parentSessionId: string | null;
  model: string | null;
  source: string | null;
  userId: string | null;
  metadata: Record<string, unknown>;
  inputTokens: number;
  outputTokens: number;
  estimatedCost: number;
  endReason: string | null;
  createdAt: string;
  updatedAt: string;
};

/** `SessionList` of the REST API. */
export type SessionList = { data: Session[]; nextCursor: string | null };

/** `ErasureReceipt` of the REST API. */
export type ErasureReceipt = Erased & { residue: "none" | "pending" | "unknown" };

/** `Rows` of the REST API. */
export type Rows = {
  sessions: number;
  messages: number;
  branches: number;
  summaries: number;
  media: number;
  prompts: number;
  blocks: number;
  entries: number;
  versions: number;
  records: number;
  usage: number;
  vectors: number;
  indexed: number;
};

/** `Erased` of the REST API. */
export type Erased = { deleted: Rows; remaining: Rows };

/** `InsertedIds` of the REST API. */
export type InsertedIds = { insertedIds: string[] };

/** A message of a conversation. */
export type Message = HistoryMessage;

/** `HistoryPage` of the REST API. */
export type HistoryPage = MessageList & { truncated?: boolean | undefined };

/** `MessageList` of the REST API. */
export type MessageList = { data: Message[]; nextCursor: string | null };

/** `DeletedIds` of the REST API. */
export type DeletedIds = { deletedIds: string[] };

/** `Inserted` of the REST API. */
export type Inserted = { inserted: boolean };

/** `TreeNodeList` of the REST API. */
export type TreeNodeList = { data: TreeNode[]; nextCursor: string | null };

/** `TreeNode` of the REST API. */
export type TreeNode = { id: string; parentId: string | null; role: string; createdAt: string; preview: string };

/** `Parent` of the REST API. */
export type Parent = { parent: Message | null };

/** `MemoryWriteList` of the REST API. */
export type MemoryWriteList = { data: MemoryWrite[]; nextCursor: string | null };

/** `MemoryWrite` of the REST API. */
export type MemoryWrite = Version & { owner: string; label: string; key: string | null };

/** `Version` of the REST API. */
export type Version = {
  version: number;
  content: string | null;
  writtenAt: string;
  author: "model" | "program" | "learning" | "import" | null;
  sessionId: string | null;
  messageIds: string[];
  toolCallId: string | null;
  fact?:
    | {
        validFrom: string | null;
        validTo: string | null;
        expiresAt: string | null;
        supersedes: string[];
        tags: string[];
        origin: "user" | "import" | "tool" | "learning" | "web" | null;
        ends: { validTo: string; invalidatedAt: string; by: string | null }[];
        merges?: boolean | undefined;
      }
    | undefined;
};

/** `Leaf` of the REST API. */
export type Leaf = { messageId: string | null };

/** `CompactionList` of the REST API. */
export type CompactionList = { data: Compaction[]; nextCursor: string | null };

/** `Compaction` of the REST API. */
export type Compaction = { id: string; summary: string; fromMessageId: string; toMessageId: string; createdAt: string };

/** `Compacted` of the REST API. */
export type Compacted = { compaction: NewCompaction };

/** `NewCompaction` of the REST API. */
export type NewCompaction = { fromMessageId: string; toMessageId: string; summary: string } | null;

/** `Imported` of the REST API. */
export type Imported = { inserted: number; skipped: number };

/** `UsageList` of the REST API. */
export type UsageList = { data: Usage[]; nextCursor: string | null };

/** `Usage` of the REST API. */
export type Usage = Counted & { day: string; model: string; requests: number };

/** `Counted` of the REST API. */
export type Counted = { inputTokens: number; outputTokens: number; cost: number };

/** `UsageSumList` of the REST API. */
export type UsageSumList = { data: UsageSum[]; nextCursor: string | null };

/** `UsageSum` of the REST API. */
export type UsageSum = Counted & { name: string; requests: number };

/** `Turn` of the REST API. */
export type Turn = {
  system: string;
  messages: Message[];
  tools: Tool[];
  /** The labels of blocks whose change this turn tells. */
  changes: string[];
  recalled: TurnRecall;
  refreshed: false | string;
  prefixHash: string;
};

/** `Tool` of the REST API. */
export type Tool = {
  name: string;
  description: string;
  /** JSON Schema. */
  inputSchema: Record<string, unknown>;
  /** The user may have to be asked before it is called. */
  needsApproval: boolean;
};

/** `TurnRecall` of the REST API. */
export type TurnRecall = { results: Record<string, unknown>[]; tokens: number; ms: number; isLate: boolean };

/** `ToolOutput` of the REST API. */
export type ToolOutput = { output: string };

/** `Learned` of the REST API. */
export type Learned = { messages: number; edits: number; usage: Counted; failed: string | null; isMoreDue: boolean };

/** `BlockList` of the REST API. */
export type BlockList = { data: Block[]; nextCursor: string | null };

/** `Block` of the REST API. */
export type Block = { label: string; content: string; version: number; updatedAt?: string | undefined };

/** `VersionList` of the REST API. */
export type VersionList = { data: Version[]; nextCursor: string | null };

/** `EntryLabelList` of the REST API. */
export type EntryLabelList = { data: EntryLabel[]; nextCursor: string | null };

/** `EntryLabel` of the REST API. */
export type EntryLabel = { label: string; count: number };

/** `EntryList` of the REST API. */
export type EntryList = { data: Entry[]; nextCursor: string | null };

/** `Entry` of the REST API. */
export type Entry = {
  key: string;
  content: string;
  value?: unknown | undefined;
  validFrom: string | null;
  validTo: string | null;
  expiresAt: string | null;
  supersedes: string[];
  tags: string[];
  origin: "user" | "import" | "tool" | "learning" | "web" | null;
  invalidatedAt: string | null;
  supersededBy: string[];
  ends: { validTo: string; invalidatedAt: string; by: string | null }[];
  createdAt: string;
  updatedAt: string;
};

/** `FoundEntries` of the REST API. */
export type FoundEntries = { data: FoundEntry[] };

/** `FoundEntry` of the REST API. */
export type FoundEntry = Entry & {
  owner?: string | undefined;
  label?: string | undefined;
  score: number;
  rerankScore?: number | undefined;
};

/** `RecordLabelList` of the REST API. */
export type RecordLabelList = { data: RecordLabel[]; nextCursor: string | null };

/** `RecordLabel` of the REST API. */
export type RecordLabel = { label: string };

/** `RecordList` of the REST API. */
export type RecordList = { data: StoredRecord[]; nextCursor: string | null };

/** `StoredRecord` of the REST API. */
export type StoredRecord = {
  key: string;
  value?: unknown | undefined;
  /** Base64, of what is no JSON. */
  bytes?: string | undefined;
  version: number;
  expiresAt: string | null;
};

/** `Written` of the REST API. */
export type Written = { ids: string[][] };

/** `Operation` of the REST API. */
export type Operation =
  | AppendMessagesOperation
  | PutMessageOperation
  | SetLeafOperation
  | SetBlockOperation
  | SetEntryOperation
  | DeleteEntryOperation
  | SetRecordOperation
  | DeleteRecordOperation
  | UpdateSessionOperation
  | AddUsageOperation;

/** `AppendMessagesOperation` of the REST API. */
export type AppendMessagesOperation = {
  op: "appendMessages";
  messages: Message[];
  session: string;
  parent?: string | null | undefined;
  expectedLeaf?: string | null | undefined;
};

/** `PutMessageOperation` of the REST API. */
export type PutMessageOperation = {
  op: "putMessage";
  message: Message;
  session: string;
  parent?: string | null | undefined;
};

/** `SetLeafOperation` of the REST API. */
export type SetLeafOperation = {
  op: "setLeaf";
  session: string;
  messageId: string | null;
  expectedLeaf?: string | null | undefined;
};

/** `SetBlockOperation` of the REST API. */
export type SetBlockOperation = {
  op: "setBlock";
  owner: string;
  label: string;
  content: string;
  expectedVersion?: number | undefined;
};

/** `SetEntryOperation` of the REST API. */
export type SetEntryOperation = {
  op: "setEntry";
  owner: string;
  label: string;
  key: string;
  expectedContent?: string | null | undefined;
  content: string;
  value?: unknown | undefined;
  holds?: boolean | undefined;
  validFrom?: string | null | undefined;
  validTo?: string | null | undefined;
  expiresAt?: string | null | undefined;
  supersedes?: string[] | undefined;
  tags?: string[] | undefined;
  origin?: "user" | "import" | "tool" | "learning" | "web" | null | undefined;
};

/** `DeleteEntryOperation` of the REST API. */
export type DeleteEntryOperation = {
  op: "deleteEntry";
  owner: string;
  label: string;
  key: string;
  expectedContent?: string | null | undefined;
};

/** `SetRecordOperation` of the REST API. */
export type SetRecordOperation = {
  op: "setRecord";
  session: string;
  label: string;
  key: string;
  expectedVersion?: number | undefined;
  /** Any JSON. Either this or `bytes`. */
  value?: unknown | undefined;
  /** Base64, for what is no JSON. */
  bytes?: string | undefined;
  /** Default: it stays. */
  expiresAt?: string | undefined;
};

/** `DeleteRecordOperation` of the REST API. */
export type DeleteRecordOperation = {
  op: "deleteRecord";
  session: string;
  label: string;
  key: string;
  expectedVersion?: number | undefined;
};

/** `UpdateSessionOperation` of the REST API. */
export type UpdateSessionOperation = {
  op: "updateSession";
  session: string;
  name?: string | undefined;
  expectedName?: string | undefined;
  metadata?: Record<string, unknown> | undefined;
};

/** `AddUsageOperation` of the REST API. */
export type AddUsageOperation = {
  op: "addUsage";
  session: string;
  inputTokens: number;
  outputTokens: number;
  cost?: number | undefined;
  model?: string | undefined;
};

/** `SearchResults` of the REST API. */
export type SearchResults = HitList & { entries: FoundEntry[] };

/** `Hit` of the REST API. */
export type Hit = {
  id: string;
  role: string;
  name?: string | undefined;
  content: string;
  createdAt: string;
  sessionId: string;
  score: number;
  snippet: string;
  coveredBy: string[];
  context?:
    | {
        before: { id: string; role: string; name?: string | undefined; content: string; createdAt: string }[];
        after: { id: string; role: string; name?: string | undefined; content: string; createdAt: string }[];
      }
    | undefined;
  rerankScore?: number | undefined;
};

/** `HitList` of the REST API. */
export type HitList = { data: Hit[]; nextCursor: string | null };

/** `Recall` of the REST API. */
export type Recall = TurnRecall & { text: string };

/** `Changes` of the REST API. */
export type Changes = { data: Change[] };

/** `Change` of the REST API. */
export type Change = { id: string; session: string; kind: "changed" | "deleted"; change: string };

/** `Limits` of the REST API. */
export type Limits = {
  maxBodyBytes: number;
  maxMessages: number;
  maxOperations: number;
  defaultLimit: number;
  maxLimit: number;
};

/** The routes of the REST API: what each takes, and what it answers. */
export interface Routes {
  /** Make a token for a page of a user. */
  "POST /v1/tokens": {
    body: {
      readonly userId?: string | undefined;
      readonly tenant?: string | undefined;
      readonly project?: string | undefined;
      readonly keys?: readonly string[] | undefined;
      readonly readOnly?: boolean | undefined;
      readonly ttl?: number | undefined;
    };
    answer: Token;
  };
  /** List the API keys. */
  "GET /v1/keys": {
    query: { readonly tenant?: string | undefined };
    answer: ApiKeyList;
  };
  /** Make an API key. */
  "POST /v1/keys": {
    body: {
      readonly name: string;
      /** Default: `memory`. */
      readonly access?: "memory" | "admin" | "mint" | undefined;
      readonly tenant?: string | undefined;
      readonly project?: string | undefined;
      readonly keys?: readonly string[] | undefined;
      readonly readOnly?: boolean | undefined;
      readonly userId?: string | undefined;
      readonly expiresAt?: string | undefined;
      readonly quota?: Quota | undefined;
    };
    answer: MadeApiKey;
  };
  /** Revoke an API key. */
  "DELETE /v1/keys/{apiKey}": {
    answer: undefined;
  };
  /** Read how far a quota is used up. */
  "GET /v1/quota": {
    query: {
      /** The id of another key, for administrators. */
      readonly key?: string | undefined;
    };
    answer: QuotaUseList;
  };
  /** Register a session. */
  "POST /v1/sessions": {
    body: {
      readonly name: string;
      readonly id?: string | undefined;
      readonly metadata?: Record<string, unknown> | undefined;
      readonly model?: string | undefined;
      readonly source?: string | undefined;
      readonly parentSessionId?: string | undefined;
      /** Whose it is. Default: the user of the key or token. */
      readonly userId?: string | undefined;
    };
    answer: Session;
  };
  /** List sessions. */
  "GET /v1/sessions": {
    query: {
      readonly order?: "change" | "tokens" | "cost" | "messages" | "registered" | undefined;
      /** Only ids that begin with this. */
      readonly prefix?: string | undefined;
      /** Only names that hold this text. */
      readonly name?: string | undefined;
      readonly userId?: string | undefined;
      readonly limit?: number | undefined;
      /** The `nextCursor` of the page before, with the same other fields. */
      readonly cursor?: string | undefined;
    };
    answer: SessionList;
  };
  /** List sessions by their metadata. */
  "POST /v1/sessions/query": {
    body: {
      readonly order?: "change" | "tokens" | "cost" | "messages" | "registered" | undefined;
      /** Only ids that begin with this. */
      readonly prefix?: string | undefined;
      /** Only names that hold this text. */
      readonly name?: string | undefined;
      readonly userId?: string | undefined;
      readonly metadata?: Record<string, unknown> | undefined;
      readonly limit?: number | undefined;
      readonly cursor?: string | undefined;
    };
    answer: SessionList;
  };
  /** Read a session's entry. */
  "GET /v1/sessions/{session}": {
    answer: Session;
  };
  /** Change a session's name or metadata. */
  "PATCH /v1/sessions/{session}": {
    body: {
      readonly name?: string | undefined;
      readonly expectedName?: string | undefined;
      readonly metadata?: Record<string, unknown> | undefined;
    };
    answer: Session;
  };
  /** Erase a session. */
  "DELETE /v1/sessions/{session}": {
    answer: ErasureReceipt;
  };
  /** Copy the path to a message into a new session. */
  "POST /v1/sessions/{session}/fork": {
    body: { readonly messageId: string; readonly name: string; readonly id?: string | undefined };
    answer: Session;
  };
  /** End a session, and go on in a new one that begins with a summary. */
  "POST /v1/sessions/{session}/split": {
    body: { readonly summary: string; readonly name?: string | undefined };
    answer: Session;
  };
  /** Append messages. */
  "POST /v1/sessions/{session}/messages": {
    body: {
      readonly messages: readonly Message[];
      /** Null for a new root. Default: the active leaf. */
      readonly parent?: string | null | undefined;
      readonly expectedLeaf?: string | null | undefined;
    };
    answer: InsertedIds;
  };
  /** Read the history. */
  "GET /v1/sessions/{session}/messages": {
    query: {
      /** The message that the path ends with. Default: the active leaf. */
      readonly leaf?: string | undefined;
      /** `desc`: the newest first. */
      readonly order?: "asc" | "desc" | undefined;
      /** `stored`: without summaries. Default: as the model sees it. */
      readonly view?: "model" | "stored" | undefined;
      /** `true`: each message has a `createdAt`. */
      readonly createdAt?: boolean | undefined;
      readonly maxBytes?: number | undefined;
      readonly minMessages?: number | undefined;
      readonly limit?: number | undefined;
      /** The `nextCursor` of the page before, with the same other fields. */
      readonly cursor?: string | undefined;
    };
    answer: HistoryPage;
  };
  /** Delete messages. */
  "POST /v1/sessions/{session}/messages/delete": {
    body: { readonly ids: readonly string[] };
    answer: DeletedIds;
  };
  /** Read a message. */
  "GET /v1/sessions/{session}/messages/{message}": {
    query: {
      /** `true`: each message has a `createdAt`. */
      readonly createdAt?: boolean | undefined;
    };
    answer: Message;
  };
  /** Write a message. */
  "PUT /v1/sessions/{session}/messages/{message}": {
    query: {
      /** Of a new message. Empty for a new root. Default: the active leaf. */
      readonly parent?: string | undefined;
    };
    body: Message;
    answer: Inserted;
  };
  /** Delete a message. */
  "DELETE /v1/sessions/{session}/messages/{message}": {
    answer: undefined;
  };
  /** Append a message beside another one. */
  "POST /v1/sessions/{session}/messages/{message}/siblings": {
    body: { readonly message: Message };
    answer: Inserted;
  };
  /** Read the messages with the same parent. */
  "GET /v1/sessions/{session}/messages/{message}/siblings": {
    answer: MessageList;
  };
  /** Remove all messages. */
  "POST /v1/sessions/{session}/clear": {
    answer: undefined;
  };
  /** Read where each message stands. */
  "GET /v1/sessions/{session}/tree": {
    query: {
      readonly limit?: number | undefined;
      /** The `nextCursor` of the page before, with the same other fields. */
      readonly cursor?: string | undefined;
    };
    answer: TreeNodeList;
  };
  /** Read the messages below one. */
  "GET /v1/sessions/{session}/messages/{message}/children": {
    answer: MessageList;
  };
  /** Read the message that one is attached to. */
  "GET /v1/sessions/{session}/messages/{message}/parent": {
    answer: Parent;
  };
  /** List what was remembered from a message. */
  "GET /v1/sessions/{session}/messages/{message}/writes": {
    answer: MemoryWriteList;
  };
  /** Read which message is the active leaf. */
  "GET /v1/sessions/{session}/leaf": {
    answer: Leaf;
  };
  /** Make a message the active leaf. */
  "PUT /v1/sessions/{session}/leaf": {
    body: { readonly messageId: string | null; readonly expectedLeaf?: string | null | undefined };
    answer: Leaf;
  };
  /** Make the branch of a message the active one. */
  "POST /v1/sessions/{session}/select": {
    body: { readonly messageId: string };
    answer: Leaf;
  };
  /** Go back to a message. */
  "POST /v1/sessions/{session}/rewind": {
    body: { readonly messageId: string };
    answer: undefined;
  };
  /** List the summaries. */
  "GET /v1/sessions/{session}/compactions": {
    answer: CompactionList;
  };
  /** Lay a summary over a range of messages. */
  "POST /v1/sessions/{session}/compactions": {
    body: { readonly summary: string; readonly fromMessageId: string; readonly toMessageId: string };
    answer: Compaction;
  };
  /** Compact the history. */
  "POST /v1/sessions/{session}/compact": {
    answer: Compacted;
  };
  /** Remove a summary. */
  "DELETE /v1/sessions/{session}/compactions/{compaction}": {
    answer: undefined;
  };
  /** Read the messages under a summary. */
  "GET /v1/sessions/{session}/compactions/{compaction}/originals": {
    answer: MessageList;
  };
  /** Export a session. */
  "GET /v1/sessions/{session}/export": {
    query: { readonly format?: "jsonl" | "markdown" | "html" | "openai" | "pi" | undefined };
    answer: string;
  };
  /** Import a session. */
  "POST /v1/sessions/{session}/import": {
    query: {
      /** Default: found by the first line. */
      readonly format?: string | undefined;
    };
    body: string | Blob | ReadableStream<Uint8Array>;
    answer: Imported;
  };
  /** Read a session's usage by day and model. */
  "GET /v1/sessions/{session}/usage": {
    answer: UsageList;
  };
  /** Count a request to a model. */
  "POST /v1/sessions/{session}/usage": {
    body: {
      readonly inputTokens: number;
      readonly outputTokens: number;
      readonly cost?: number | undefined;
      readonly model?: string | undefined;
    };
    answer: undefined;
  };
  /** Sum usage up. */
  "GET /v1/usage": {
    query: {
      readonly by: "day" | "model" | "session";
      /** The first day, as `2026-11-22`. */
      readonly from?: string | undefined;
      /** The last day. */
      readonly to?: string | undefined;
      readonly userId?: string | undefined;
      readonly limit?: number | undefined;
    };
    answer: UsageSumList;
  };
  /** Prepare a request to a model. */
  "POST /v1/sessions/{session}/turn": {
    body: {
      readonly messageId?: string | null | undefined;
      readonly cacheTtl?: number | undefined;
      readonly onCorrupt?: "throw" | "skip" | undefined;
      readonly recall?:
        | {
            readonly userId?: string | undefined;
            readonly keys?: readonly string[] | undefined;
            readonly maxTokens?: number | undefined;
            readonly maxMs?: number | undefined;
            readonly rerank?: boolean | undefined;
            readonly threshold?: number | undefined;
          }
        | undefined;
    };
    answer: Turn;
  };
  /** Run a tool that a turn gave. */
  "POST /v1/sessions/{session}/tools/{tool}": {
    body: {
      readonly input: Record<string, unknown>;
      readonly toolCallId?: string | undefined;
      readonly approved?: boolean | undefined;
    };
    answer: ToolOutput;
  };
  /** Learn from what is new. */
  "POST /v1/sessions/{session}/learn": {
    answer: Learned;
  };
  /** List blocks. */
  "GET /v1/memory/{owner}/blocks": {
    query: {
      readonly limit?: number | undefined;
      /** The `nextCursor` of the page before, with the same other fields. */
      readonly cursor?: string | undefined;
    };
    answer: BlockList;
  };
  /** Read a block. */
  "GET /v1/memory/{owner}/blocks/{label}": {
    answer: Block;
  };
  /** Replace a block. */
  "PUT /v1/memory/{owner}/blocks/{label}": {
    body: { readonly content: string };
    answer: Block;
  };
  /** Append to a block. */
  "PATCH /v1/memory/{owner}/blocks/{label}": {
    body: { readonly append: string; readonly maxTokens: number };
    answer: Block;
  };
  /** Erase a block. */
  "DELETE /v1/memory/{owner}/blocks/{label}": {
    answer: undefined;
  };
  /** List the versions of a block. */
  "GET /v1/memory/{owner}/blocks/{label}/versions": {
    answer: VersionList;
  };
  /** Write an old version of a block as a new one. */
  "POST /v1/memory/{owner}/blocks/{label}/restore": {
    body: { readonly version: number };
    answer: Block;
  };
  /** List the labels that have entries. */
  "GET /v1/memory/{owner}/entries": {
    answer: EntryLabelList;
  };
  /** List entries. */
  "GET /v1/memory/{owner}/entries/{label}": {
    query: {
      readonly prefix?: string | undefined;
      readonly includeEnded?: boolean | undefined;
      readonly includeExpired?: boolean | undefined;
      /** Only what held in the world at this time. */
      readonly asOf?: string | undefined;
      /** All that the store knew at this time. */
      readonly knownAt?: string | undefined;
      readonly limit?: number | undefined;
      /** The `nextCursor` of the page before, with the same other fields. */
      readonly cursor?: string | undefined;
    };
    answer: EntryList;
  };
  /** List entries by tags and values. */
  "POST /v1/memory/{owner}/entries/{label}/query": {
    body: {
      readonly prefix?: string | undefined;
      readonly includeEnded?: boolean | undefined;
      readonly includeExpired?: boolean | undefined;
      /** Only what held in the world at this time. */
      readonly asOf?: string | undefined;
      /** All that the store knew at this time. */
      readonly knownAt?: string | undefined;
      /** `{ tags, value, and, or }`; docs/facts.md shows them. */
      readonly filter?: Record<string, unknown> | undefined;
      readonly limit?: number | undefined;
      readonly cursor?: string | undefined;
    };
    answer: EntryList;
  };
  /** Search entries. */
  "POST /v1/memory/{owner}/entries/{label}/search": {
    body: {
      readonly query: string;
      readonly limit?: number | undefined;
      /** Milliseconds since 1970: last written then or later. */
      readonly after?: number | undefined;
      readonly before?: number | undefined;
      readonly rerank?: boolean | undefined;
      readonly threshold?: number | undefined;
      readonly prefix?: string | undefined;
      readonly includeEnded?: boolean | undefined;
      readonly includeExpired?: boolean | undefined;
      /** Only what held in the world at this time. */
      readonly asOf?: string | undefined;
      /** All that the store knew at this time. */
      readonly knownAt?: string | undefined;
      /** `{ tags, value, and, or }`; docs/facts.md shows them. */
      readonly filter?: Record<string, unknown> | undefined;
    };
    answer: FoundEntries;
  };
  /** Read an entry. */
  "GET /v1/memory/{owner}/entries/{label}/{key}": {
    answer: Entry;
  };
  /** Write an entry. */
  "PUT /v1/memory/{owner}/entries/{label}/{key}": {
    body: {
      readonly content: string;
      readonly value?: unknown | undefined;
      readonly holds?: boolean | undefined;
      readonly validFrom?: string | null | undefined;
      readonly validTo?: string | null | undefined;
      readonly expiresAt?: string | null | undefined;
      readonly supersedes?: readonly string[] | undefined;
      readonly tags?: readonly string[] | undefined;
      readonly origin?: "user" | "import" | "tool" | "learning" | "web" | null | undefined;
    };
    answer: Entry;
  };
  /** Append to an entry. */
  "PATCH /v1/memory/{owner}/entries/{label}/{key}": {
    body: { readonly append: string; readonly maxTokens: number };
    answer: Entry;
  };
  /** Remove an entry. */
  "DELETE /v1/memory/{owner}/entries/{label}/{key}": {
    query: { readonly keepVersions?: boolean | undefined };
    answer: undefined;
  };
  /** List the versions of an entry. */
  "GET /v1/memory/{owner}/entries/{label}/{key}/versions": {
    answer: VersionList;
  };
  /** Write an old version of an entry as a new one. */
  "POST /v1/memory/{owner}/entries/{label}/{key}/restore": {
    body: { readonly version: number };
    answer: Entry;
  };
  /** List the labels under which a session has records. */
  "GET /v1/sessions/{session}/records": {
    answer: RecordLabelList;
  };
  /** List records. */
  "GET /v1/sessions/{session}/records/{label}": {
    query: {
      readonly prefix?: string | undefined;
      readonly descending?: boolean | undefined;
      /** `bytes`: all in base64, as they were stored. */
      readonly format?: "json" | "bytes" | undefined;
      readonly limit?: number | undefined;
      /** The `nextCursor` of the page before, with the same other fields. */
      readonly cursor?: string | undefined;
    };
    answer: RecordList;
  };
  /** Read a record. */
  "GET /v1/sessions/{session}/records/{label}/{key}": {
    query: {
      /** `bytes`: all in base64, as they were stored. */
      readonly format?: "json" | "bytes" | undefined;
    };
    answer: StoredRecord;
  };
  /** Write a record. */
  "PUT /v1/sessions/{session}/records/{label}/{key}": {
    body: {
      /** Any JSON. Either this or `bytes`. */
      readonly value?: unknown | undefined;
      /** Base64, for what is no JSON. */
      readonly bytes?: string | undefined;
      /** Default: it stays. */
      readonly expiresAt?: string | undefined;
    };
    answer: StoredRecord;
  };
  /** Delete a record. */
  "DELETE /v1/sessions/{session}/records/{label}/{key}": {
    answer: undefined;
  };
  /** Make several writes together. */
  "POST /v1/batch": {
    body: { readonly operations: readonly Operation[] };
    answer: Written;
  };
  /** Search messages and entries. */
  "POST /v1/search": {
    body: {
      readonly query: string;
      readonly sessionIds?: readonly string[] | undefined;
      readonly role?: string | undefined;
      readonly after?: string | undefined;
      readonly before?: string | undefined;
      readonly leafId?: string | null | undefined;
      readonly metadata?: Record<string, unknown> | undefined;
      readonly sessionMetadata?: Record<string, unknown> | undefined;
      readonly context?: number | undefined;
      readonly rerank?: boolean | undefined;
      readonly threshold?: number | undefined;
      /** Whose entries are searched, too, as in paths. Default: the user of the key, if it has one. */
      readonly owners?: readonly string[] | undefined;
      readonly limit?: number | undefined;
      readonly cursor?: string | undefined;
    };
    answer: SearchResults;
  };
  /** Recall what a user's memory holds about a text. */
  "POST /v1/recall": {
    body: {
      readonly query: string;
      readonly keys?: readonly string[] | undefined;
      readonly maxTokens?: number | undefined;
      readonly maxMs?: number | undefined;
      readonly rerank?: boolean | undefined;
      readonly threshold?: number | undefined;
      readonly userId?: string | undefined;
      readonly sessionId?: string | undefined;
    };
    answer: Recall;
  };
  /** Erase a memory. */
  "DELETE /v1/memory/{owner}": {
    answer: Erased;
  };
  /** Erase a user. */
  "DELETE /v1/users/{user}": {
    answer: ErasureReceipt;
  };
  /** Hear which sessions change. */
  "GET /v1/changes": {
    query: {
      /** Seconds that JSON waits for a change, instead of a stream. */
      readonly wait?: number | undefined;
      /** The `id` of the last change that was read, as `Last-Event-ID`. */
      readonly after?: string | undefined;
    };
    answer: Changes;
  };
  /** Hear when a session changes. */
  "GET /v1/sessions/{session}/changes": {
    query: {
      /** Seconds that JSON waits for a change, instead of a stream. */
      readonly wait?: number | undefined;
      /** The `id` of the last change that was read, as `Last-Event-ID`. */
      readonly after?: string | undefined;
    };
    answer: Changes;
  };
  /** Read the limits of requests. */
  "GET /v1/limits": {
    answer: Limits;
  };
}
