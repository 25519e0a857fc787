import { type Check, check, defineOptions, type SearchExplanation } from "@stemma/model";

export type { SearchExplanation } from "@stemma/model";

/** Which messages a search may find, and how many: whatever is left out does not narrow it. */
export interface SearchRequest {
  /** How many hits at most. */
  limit: number;
  /** How many of the best hits to pass over: the whole order is the same for every `limit` and `offset`. */
  offset?: number | undefined;
  sessionId?: string | undefined;
  /** Only these sessions; unknown ids hold nothing. */
  sessionIds?: readonly string[] | undefined;
  /** Only sessions of this user. With `sessionId`: who searches it, `SESSION_OWNED` when it is another user's. */
  userId?: string | undefined;
  /** Only sessions whose metadata has these fields with these values; null stands for a field that is not there. */
  sessionMetadata?: Readonly<Record<string, MetadataValue>> | undefined;
  role?: string | undefined;
  /** Milliseconds since 1970: not before this time. */
  after?: number | undefined;
  /** Milliseconds since 1970: before this time. */
  before?: number | undefined;
  /** Only what lies on the path to this message of `sessionId`; null is its active leaf. */
  leafId?: string | null | undefined;
  /** Only messages whose metadata has these fields with these values. */
  metadata?: Readonly<Record<string, MetadataValue>> | undefined;
  /** How many messages before and after each hit to give along. */
  context?: number | undefined;
  /** Tell of each hit which exchange it belongs to. */
  exchange?: boolean | undefined;
  /** Tell of each hit why it ranks where it does. */
  explain?: boolean | undefined;
  /** False: the store's reranker is not asked. Default true; without a reranker it means nothing. */
  rerank?: boolean | undefined;
  /**
   * The least score, on the reranker's own scale, that a hit must have. What the reranker was not asked about is no hit then. Where the
   * reranker fails it does not count. Errors: `INVALID_ARGUMENT` without a reranker, and with `rerank: false`.
   */
  threshold?: number | undefined;
  /** Aborted, the search waits for the reranker no longer, and answers without. For this process only. */
  signal?: AbortSignal | undefined;
}

export type MetadataValue = string | number | boolean | null;

/** A message as a search shows it. */
export interface FoundMessage {
  id: string;
  role: string;
  /** The sender's name (`metadata.name`), when the message has one. */
  name?: string;
  /** The message's searchable text: its text parts, a line break between them. */
  content: string;
  /** ISO time: the message's own `createdAt`, else when it was stored. */
  createdAt: string;
}

export interface SearchHit extends FoundMessage {
  sessionId: string;
  /** Higher is better; comparable within one query only. */
  score: number;
  /** A piece of `content` around what matched, which stands between « and »; see `markedSnippet`. */
  snippet: string;
  /** Ids of the compactions whose range holds the message, newest first. */
  coveredBy: string[];
  /** The messages beside it on its path, oldest first, when they were asked for. */
  context?: { before: FoundMessage[]; after: FoundMessage[] };
  /** The reranker's own score, where it gave one: `threshold` is on this scale. */
  rerankScore?: number;
  /**
   * The ids of the user's message that begins its exchange and of the answer's last message by an assistant, when they were asked
   * for; null where there is none within 1,000 messages.
   */
  exchange?: { user: string | null; answer: string | null };
  /** When it was asked for. */
  explanation?: SearchExplanation;
}

/** The parts of messages that a store's search looks at. */
export interface SearchSettings {
  /**
   * Search also looks at the inputs, outputs and errors of tool calls: at the texts, numbers and names of fields among the first 4,000
   * characters of each, and 32,000 of a message. Files in base64 are left out; embedders get texts alone. Each store indexes by its own
   * setting, so pass it wherever you open the database; `check({ repair: true })` adds the calls of messages that were indexed without.
   * Default: false.
   */
  tools?: boolean | undefined;
}

const SETTINGS = defineOptions<SearchSettings>({ tools: check.flag });

/** An option that is such settings. */
export const checkSettings: Check<SearchSettings> = (settings) => SETTINGS.assert(settings, "search");

/** An option that is such settings, or says whether there is search at all. */
export const checkSearch: Check<boolean | SearchSettings> = (value, name) =>
  typeof value === "object" ? checkSettings(value, name) : check.flag(value, name);
