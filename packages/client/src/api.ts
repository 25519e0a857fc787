// Made from packages/server/openapi.json by scripts/client-types.mjs. Do not change it by hand.
import type { HistoryMessage } from "@stemma/model";

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

/** `ErasureReceipt` of the REST API. */
export type ErasureReceipt = Erased & {
  residue: "none" | "pending" | "unknown";
};

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
export type Erased = {
  deleted: Rows;
  remaining: Rows;
};

/** A message of a conversation. */
export type Message = HistoryMessage;

/** `TreeNode` of the REST API. */
export type TreeNode = {
  id: string;
  parentId: string | null;
  role: string;
  createdAt: string;
  preview: string;
};

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
        ends: {
          validTo: string;
          invalidatedAt: string;
          by: string | null;
        }[];
      }
    | undefined;
};

/** `Compaction` of the REST API. */
export type Compaction = {
  id: string;
  summary: string;
  fromMessageId: string;
  toMessageId: string;
  createdAt: string;
};

/** `Block` of the REST API. */
export type Block = {
  label: string;
  content: string;
  version: number;
  updatedAt?: string | undefined;
};

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
  ends: {
    validTo: string;
    invalidatedAt: string;
    by: string | null;
  }[];
  createdAt: string;
  updatedAt: string;
};

/** `FoundEntry` of the REST API. */
export type FoundEntry = Entry & {
  owner?: string | undefined;
  label?: string | undefined;
  score: number;
  rerankScore?: number | undefined;
};

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
        before: {
          id: string;
          role: string;
          name?: string | undefined;
          content: string;
          createdAt: string;
        }[];
        after: {
          id: string;
          role: string;
          name?: string | undefined;
          content: string;
          createdAt: string;
        }[];
      }
    | undefined;
  rerankScore?: number | undefined;
};

/** The routes of the REST API: what each takes, and what it answers. */
export interface Routes {
  /** Register a session. */
  "POST /v1/sessions": {
    query: undefined;
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
    body: undefined;
    answer: {
      data: Session[];
      nextCursor: string | null;
    };
  };
  /** List sessions by their metadata. */
  "POST /v1/sessions/query": {
    query: undefined;
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
    answer: {
      data: Session[];
      nextCursor: string | null;
    };
  };
  /** Read a session's entry. */
  "GET /v1/sessions/{session}": {
    query: undefined;
    body: undefined;
    answer: Session;
  };
  /** Change a session's name or metadata. */
  "PATCH /v1/sessions/{session}": {
    query: undefined;
    body: {
      readonly name?: string | undefined;
      readonly expectedName?: string | undefined;
      readonly metadata?: Record<string, unknown> | undefined;
    };
    answer: Session;
  };
  /** Erase a session. */
  "DELETE /v1/sessions/{session}": {
    query: undefined;
    body: undefined;
    answer: ErasureReceipt;
  };
  /** Copy the path to a message into a new session. */
  "POST /v1/sessions/{session}/fork": {
    query: undefined;
    body: {
      readonly messageId: string;
      readonly name: string;
      readonly id?: string | undefined;
    };
    answer: Session;
  };
  /** End a session, and go on in a new one that begins with a summary. */
  "POST /v1/sessions/{session}/split": {
    query: undefined;
    body: {
      readonly summary: string;
      readonly name?: string | undefined;
    };
    answer: Session;
  };
  /** Append messages. */
  "POST /v1/sessions/{session}/messages": {
    query: undefined;
    body: {
      readonly messages: readonly Message[];
      /** Null for a new root. Default: the active leaf. */
      readonly parent?: string | null | undefined;
      readonly expectedLeaf?: string | null | undefined;
    };
    answer: {
      insertedIds: string[];
    };
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
    body: undefined;
    answer: {
      data: Message[];
      nextCursor: string | null;
      truncated?: boolean | undefined;
    };
  };
  /** Delete messages. */
  "POST /v1/sessions/{session}/messages/delete": {
    query: undefined;
    body: {
      readonly ids: readonly string[];
    };
    answer: {
      deletedIds: string[];
    };
  };
  /** Read a message. */
  "GET /v1/sessions/{session}/messages/{message}": {
    query: {
      /** `true`: each message has a `createdAt`. */
      readonly createdAt?: boolean | undefined;
    };
    body: undefined;
    answer: Message;
  };
  /** Write a message. */
  "PUT /v1/sessions/{session}/messages/{message}": {
    query: {
      /** Of a new message. Empty for a new root. Default: the active leaf. */
      readonly parent?: string | undefined;
    };
    body: Message;
    answer: {
      inserted: boolean;
    };
  };
  /** Delete a message. */
  "DELETE /v1/sessions/{session}/messages/{message}": {
    query: undefined;
    body: undefined;
    answer: undefined;
  };
  /** Append a message beside another one. */
  "POST /v1/sessions/{session}/messages/{message}/siblings": {
    query: undefined;
    body: {
      readonly message: Message;
    };
    answer: {
      inserted: boolean;
    };
  };
  /** Read the messages with the same parent. */
  "GET /v1/sessions/{session}/messages/{message}/siblings": {
    query: undefined;
    body: undefined;
    answer: {
      data: Message[];
      nextCursor: string | null;
    };
  };
  /** Remove all messages. */
  "POST /v1/sessions/{session}/clear": {
    query: undefined;
    body: undefined;
    answer: undefined;
  };
  /** Read where each message stands. */
  "GET /v1/sessions/{session}/tree": {
    query: {
      readonly limit?: number | undefined;
      /** The `nextCursor` of the page before, with the same other fields. */
      readonly cursor?: string | undefined;
    };
    body: undefined;
    answer: {
      data: TreeNode[];
      nextCursor: string | null;
    };
  };
  /** Read the messages below one. */
  "GET /v1/sessions/{session}/messages/{message}/children": {
    query: undefined;
    body: undefined;
    answer: {
      data: Message[];
      nextCursor: string | null;
    };
  };
  /** Read the message that one is attached to. */
  "GET /v1/sessions/{session}/messages/{message}/parent": {
    query: undefined;
    body: undefined;
    answer: {
      parent: Message | null;
    };
  };
  /** List what was remembered from a message. */
  "GET /v1/sessions/{session}/messages/{message}/writes": {
    query: undefined;
    body: undefined;
    answer: {
      data: (Version & {
        owner: string;
        label: string;
        key: string | null;
      })[];
      nextCursor: string | null;
    };
  };
  /** Read which message is the active leaf. */
  "GET /v1/sessions/{session}/leaf": {
    query: undefined;
    body: undefined;
    answer: {
      messageId: string | null;
    };
  };
  /** Make a message the active leaf. */
  "PUT /v1/sessions/{session}/leaf": {
    query: undefined;
    body: {
      readonly messageId: string | null;
      readonly expectedLeaf?: string | null | undefined;
    };
    answer: {
      messageId: string | null;
    };
  };
  /** Make the branch of a message the active one. */
  "POST /v1/sessions/{session}/select": {
    query: undefined;
    body: {
      readonly messageId: string;
    };
    answer: {
      messageId: string | null;
    };
  };
  /** Go back to a message. */
  "POST /v1/sessions/{session}/rewind": {
    query: undefined;
    body: {
      readonly messageId: string;
    };
    answer: undefined;
  };
  /** List the summaries. */
  "GET /v1/sessions/{session}/compactions": {
    query: undefined;
    body: undefined;
    answer: {
      data: Compaction[];
      nextCursor: string | null;
    };
  };
  /** Lay a summary over a range of messages. */
  "POST /v1/sessions/{session}/compactions": {
    query: undefined;
    body: {
      readonly summary: string;
      readonly fromMessageId: string;
      readonly toMessageId: string;
    };
    answer: Compaction;
  };
  /** Compact the history. */
  "POST /v1/sessions/{session}/compact": {
    query: undefined;
    body: undefined;
    answer: {
      compaction: {
        fromMessageId: string;
        toMessageId: string;
        summary: string;
      } | null;
    };
  };
  /** Remove a summary. */
  "DELETE /v1/sessions/{session}/compactions/{compaction}": {
    query: undefined;
    body: undefined;
    answer: undefined;
  };
  /** Read the messages under a summary. */
  "GET /v1/sessions/{session}/compactions/{compaction}/originals": {
    query: undefined;
    body: undefined;
    answer: {
      data: Message[];
      nextCursor: string | null;
    };
  };
  /** Export a session. */
  "GET /v1/sessions/{session}/export": {
    query: {
      readonly format?: "jsonl" | "markdown" | "html" | "openai" | "pi" | undefined;
    };
    body: undefined;
    answer: string;
  };
  /** Import a session. */
  "POST /v1/sessions/{session}/import": {
    query: {
      /** Default: found by the first line. */
      readonly format?: string | undefined;
    };
    body: string | Blob | ReadableStream<Uint8Array>;
    answer: {
      inserted: number;
      skipped: number;
    };
  };
  /** Read a session's usage by day and model. */
  "GET /v1/sessions/{session}/usage": {
    query: undefined;
    body: undefined;
    answer: {
      data: {
        day: string;
        model: string;
        requests: number;
        inputTokens: number;
        outputTokens: number;
        cost: number;
      }[];
      nextCursor: string | null;
    };
  };
  /** Count a request to a model. */
  "POST /v1/sessions/{session}/usage": {
    query: undefined;
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
    body: undefined;
    answer: {
      data: {
        name: string;
        requests: number;
        inputTokens: number;
        outputTokens: number;
        cost: number;
      }[];
      nextCursor: string | null;
    };
  };
  /** Prepare a request to a model. */
  "POST /v1/sessions/{session}/turn": {
    query: undefined;
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
    answer: {
      system: string;
      messages: Message[];
      tools: {
        name: string;
        description: string;
        /** JSON Schema. */
        inputSchema: Record<string, unknown>;
        /** The user may have to be asked before it is called. */
        needsApproval: boolean;
      }[];
      /** The labels of blocks whose change this turn tells. */
      changes: string[];
      recalled: {
        results: Record<string, unknown>[];
        tokens: number;
        ms: number;
        isLate: boolean;
      };
      refreshed: false | string;
      prefixHash: string;
    };
  };
  /** Run a tool that a turn gave. */
  "POST /v1/sessions/{session}/tools/{tool}": {
    query: undefined;
    body: {
      readonly input: Record<string, unknown>;
      readonly toolCallId?: string | undefined;
      readonly approved?: boolean | undefined;
    };
    answer: {
      output: string;
    };
  };
  /** Learn from what is new. */
  "POST /v1/sessions/{session}/learn": {
    query: undefined;
    body: undefined;
    answer: {
      messages: number;
      edits: number;
      usage: {
        inputTokens: number;
        outputTokens: number;
        cost: number;
      };
      failed: string | null;
      isMoreDue: boolean;
    };
  };
  /** List blocks. */
  "GET /v1/memory/{owner}/blocks": {
    query: {
      readonly limit?: number | undefined;
      /** The `nextCursor` of the page before, with the same other fields. */
      readonly cursor?: string | undefined;
    };
    body: undefined;
    answer: {
      data: Block[];
      nextCursor: string | null;
    };
  };
  /** Read a block. */
  "GET /v1/memory/{owner}/blocks/{label}": {
    query: undefined;
    body: undefined;
    answer: Block;
  };
  /** Replace a block. */
  "PUT /v1/memory/{owner}/blocks/{label}": {
    query: undefined;
    body: {
      readonly content: string;
    };
    answer: Block;
  };
  /** Append to a block. */
  "PATCH /v1/memory/{owner}/blocks/{label}": {
    query: undefined;
    body: {
      readonly append: string;
      readonly maxTokens: number;
    };
    answer: Block;
  };
  /** Erase a block. */
  "DELETE /v1/memory/{owner}/blocks/{label}": {
    query: undefined;
    body: undefined;
    answer: undefined;
  };
  /** List the versions of a block. */
  "GET /v1/memory/{owner}/blocks/{label}/versions": {
    query: undefined;
    body: undefined;
    answer: {
      data: Version[];
      nextCursor: string | null;
    };
  };
  /** Write an old version of a block as a new one. */
  "POST /v1/memory/{owner}/blocks/{label}/restore": {
    query: undefined;
    body: {
      readonly version: number;
    };
    answer: Block;
  };
  /** List the labels that have entries. */
  "GET /v1/memory/{owner}/entries": {
    query: undefined;
    body: undefined;
    answer: {
      data: {
        label: string;
        count: number;
      }[];
      nextCursor: string | null;
    };
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
    body: undefined;
    answer: {
      data: Entry[];
      nextCursor: string | null;
    };
  };
  /** List entries by tags and values. */
  "POST /v1/memory/{owner}/entries/{label}/query": {
    query: undefined;
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
    answer: {
      data: Entry[];
      nextCursor: string | null;
    };
  };
  /** Search entries. */
  "POST /v1/memory/{owner}/entries/{label}/search": {
    query: undefined;
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
    answer: {
      data: FoundEntry[];
    };
  };
  /** Read an entry. */
  "GET /v1/memory/{owner}/entries/{label}/{key}": {
    query: undefined;
    body: undefined;
    answer: Entry;
  };
  /** Write an entry. */
  "PUT /v1/memory/{owner}/entries/{label}/{key}": {
    query: undefined;
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
    query: undefined;
    body: {
      readonly append: string;
      readonly maxTokens: number;
    };
    answer: Entry;
  };
  /** Remove an entry. */
  "DELETE /v1/memory/{owner}/entries/{label}/{key}": {
    query: {
      readonly keepVersions?: boolean | undefined;
    };
    body: undefined;
    answer: undefined;
  };
  /** List the versions of an entry. */
  "GET /v1/memory/{owner}/entries/{label}/{key}/versions": {
    query: undefined;
    body: undefined;
    answer: {
      data: Version[];
      nextCursor: string | null;
    };
  };
  /** Write an old version of an entry as a new one. */
  "POST /v1/memory/{owner}/entries/{label}/{key}/restore": {
    query: undefined;
    body: {
      readonly version: number;
    };
    answer: Entry;
  };
  /** Search messages and entries. */
  "POST /v1/search": {
    query: undefined;
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
    answer: {
      data: Hit[];
      nextCursor: string | null;
      entries: FoundEntry[];
    };
  };
  /** Recall what a user's memory holds about a text. */
  "POST /v1/recall": {
    query: undefined;
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
    answer: {
      results: Record<string, unknown>[];
      text: string;
      tokens: number;
      ms: number;
      isLate: boolean;
    };
  };
  /** Erase a memory. */
  "DELETE /v1/memory/{owner}": {
    query: undefined;
    body: undefined;
    answer: Erased;
  };
  /** Erase a user. */
  "DELETE /v1/users/{user}": {
    query: undefined;
    body: undefined;
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
    body: undefined;
    answer: string;
  };
  /** Hear when a session changes. */
  "GET /v1/sessions/{session}/changes": {
    query: {
      /** Seconds that JSON waits for a change, instead of a stream. */
      readonly wait?: number | undefined;
      /** The `id` of the last change that was read, as `Last-Event-ID`. */
      readonly after?: string | undefined;
    };
    body: undefined;
    answer: string;
  };
  /** Read the limits of requests. */
  "GET /v1/limits": {
    query: undefined;
    body: undefined;
    answer: {
      maxBodyBytes: number;
      maxMessages: number;
      defaultLimit: number;
      maxLimit: number;
    };
  };
}
