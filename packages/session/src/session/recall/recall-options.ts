import { check, defineOptions, LONGEST_TIMER, StemmaError } from "@stemma/model";
import { assertScope, assertUserId, type BlockScope, type Store } from "@stemma/store";

/** Estimated tokens of what is recalled, unless `maxTokens` says otherwise. */
export const DEFAULT_RECALL_TOKENS = 1000;

/** How long a recall may take, in milliseconds, unless `maxMs` says otherwise. */
export const DEFAULT_RECALL_MS = 3000;

/** Whose memory is recalled, and how much of it. */
export interface RecallOptions {
  /** Whose sessions and entries. Default: the user that the session or the manager is confined to. */
  userId?: string | undefined;
  /** Also the entries of these keys, as blocks with `scope: { key }` have them. Default: of the scopes that blocks declare. */
  keys?: readonly string[] | undefined;
  /** The most that is quoted, in estimated tokens. Default 1,000. */
  maxTokens?: number | undefined;
  /** The longest that it may take, in milliseconds. What takes longer recalls nothing. Default 3,000. */
  maxMs?: number | undefined;
  /** False: the store's reranker is not asked. Default true; without a reranker it means nothing. */
  rerank?: boolean | undefined;
  /** The least score, on the reranker's own scale, of what is quoted, as for a search. Default: none. */
  threshold?: number | undefined;
}

const keys = check.rule<readonly string[]>("a list of keys", (keys) => {
  if (!Array.isArray(keys)) return false;
  for (const key of keys) assertScope({ key });
  return true;
});

/** The options of `recall`, and of `prepareTurn({ recall })`. */
export const RECALL = defineOptions<RecallOptions>({
  userId: assertUserId,
  keys,
  maxTokens: check.positive("tokens"),
  maxMs: check.whole(1, LONGEST_TIMER),
  rerank: check.flag,
  threshold: check.finite,
});

/** Where an entry stands that was recalled. */
export interface RecalledEntryPlace {
  readonly kind: "entry";
  /** Whose it is. */
  readonly scope: BlockScope;
  /** The name of its scope, where a block declares several. */
  readonly scopeName?: string;
  /** Under which the store keeps it. */
  readonly label: string;
  /** The label of the session's block that holds it, where there is one: prompts and tools know it by this. */
  readonly block?: string;
  readonly key: string;
  /** ISO time: since when it holds, where that is known; else when it was last written. */
  readonly at: string;
  /** ISO time: when it was last written. */
  readonly updatedAt: string;
}

/** Where a message stands that was recalled. */
export interface RecalledMessagePlace {
  readonly kind: "message";
  readonly sessionId: string;
  readonly messageId: string;
}

/** Where something stands that was recalled: `kind` says whether it is an entry or a message. */
export type RecalledPlace = RecalledEntryPlace | RecalledMessagePlace;

/** An entry that was recalled. */
export interface RecalledEntry extends RecalledEntryPlace {
  /** How the quote names it: by its key, or by its subject where a program made the key, as `fact-3f2a`; "" for no name. */
  readonly title: string;
  /** As it is quoted: one line, cut to its best stretch. */
  readonly content: string;
}

/** A message that was recalled. */
export interface RecalledMessage extends RecalledMessagePlace {
  readonly role: string;
  /** The sender's name, when the message has one. */
  readonly name?: string;
  /** ISO time: the message's own `createdAt`, else when it was stored. */
  readonly createdAt: string;
  /** As it is quoted: one line, cut to its best stretch. */
  readonly content: string;
}

/** Something that was recalled: `kind` says whether it is an entry or a message. */
export type RecallResult = RecalledEntry | RecalledMessage;

/** The results of a recall, and what they cost. */
export interface Recalled<Result = RecallResult> {
  /** Entries first, then the messages by exchanges; each best first. */
  readonly results: readonly Result[];
  /** Estimated, of the quotes. */
  readonly tokens: number;
  /** How long it took, in milliseconds. */
  readonly ms: number;
  /** True where it took longer than `maxMs`: then there are no results. */
  readonly isLate: boolean;
}

/** The answer of `recall()`. */
export interface Recollection extends Recalled {
  /** The results as a model is shown them: quotes that cannot pass for anything else. "" for none. */
  readonly text: string;
}

/**
 * The store and the user whose memory may be recalled: nobody recalls what is another's. `store` is null where the session is kept by
 * a provider of the host's. Errors: `STORE_UNSUPPORTED`, `SESSION_OWNED`, `USER_REQUIRED`.
 */
export function userOfRecall(
  store: Store | null,
  { userId }: RecallOptions,
  details: { readonly sessionId?: string } = {},
): { readonly store: Store; readonly userId: string } {
  if (store === null) {
    const message = "A SessionProvider of your own has no other chats to recall: keep the session in a store.";
    throw new StemmaError("STORE_UNSUPPORTED", details, message);
  }
  const own = store.userId;
  if (own !== undefined && userId !== undefined && userId !== own) {
    const message = "This is confined to another user: recall() quotes the memory of its own user only.";
    throw new StemmaError("SESSION_OWNED", details, message);
  }
  const user = userId ?? own;
  if (user !== undefined) return { store, userId: user };
  const message = "Whose memory? Pass { userId } to recall, or use forUser().";
  throw new StemmaError("USER_REQUIRED", details, message);
}
