// One file: all that the server and the page agree on, one type after the other.
import type { HistoryMessage } from "@stemma/model";
import type { ContextExplanation, TurnPage as TurnList, TurnSummary as TurnRow } from "@stemma/session";
import type {
  CompactionSum,
  CompactionSumRequest,
  EntryFact,
  MemoryOwner,
  RememberedVersion,
  SearchHit,
  SessionInfo,
  SessionOrder,
  StoredCompaction,
  StoredVersion,
  TreePage,
  TreeNode as TreeRow,
  UsageSum as UsageOf,
} from "@stemma/store";

/**
 * The answers of the studio's server to its page. All routes stand under `<base>/api/`; GET reads, POST with a JSON object
 * writes and answers 403 where the studio may not write. A failure is a status of 400 or more with a `StudioFailure`.
 */
export interface StudioFailure {
  /** One of the library's codes, or of the server's: `NOT_ALLOWED`, `NOT_FOUND`, `READ_ONLY`, `BAD_REQUEST`. */
  readonly code: string;
  readonly message: string;
  /** Of `BLOCK_CONFLICT`: the block as it is now. */
  readonly details?: { readonly block: MemoryBlock };
}

/** `GET info`. */
export interface StudioInfo {
  /** The kind of the store: "sqlite", "postgres" and so on. */
  readonly store: string;
  readonly sessions: number;
  readonly canWrite: boolean;
  readonly canSearch: boolean;
  /** The blocks are known as the program configures them: the next request can be shown, and `compact` is there. */
  readonly hasManager: boolean;
  readonly version: string;
}

/** `GET sessions?order=change|tokens|cost|messages&user&prefix&name&cursor&limit`: the latest change or the highest first. */
export interface SessionList {
  readonly sessions: SessionRow[];
  /** Pass it as `cursor`; null behind the last page. */
  readonly nextCursor: string | null;
}

/** A session with what a list shows of it. */
export interface SessionRow extends SessionInfo {
  /** Messages of the active branch; of all branches in a list in the order of `messages`. */
  readonly messages: number;
  /** Estimated tokens that a request would hold of it. */
  readonly tokens: number;
}

/** `GET search?q&session&user&role&after&before&offset&limit`: times in ISO text. */
export interface SearchResults {
  readonly hits: FoundHit[];
  /** Pass it as `offset`; null behind the last page. */
  readonly nextOffset: number | null;
}

export interface FoundHit extends SearchHit {
  readonly sessionName: string;
  /** Which words of the query the message holds, how often, and what each adds to the score; highest first. */
  readonly words: readonly { readonly word: string; readonly count: number; readonly score: number }[];
  /** Its place by words and by meaning, from 1; null where that list does not hold it. */
  readonly ranks: { readonly words: number | null; readonly meaning: number | null };
  /** Its place before the store's reranker was asked, and what that gave it, or why it was not heard; null without a reranker. */
  readonly reranker: { readonly from: number; readonly score: number | null; readonly failure: string | null } | null;
}

/** `GET session?id`. */
export interface SessionView {
  readonly session: SessionRow;
  /** The active leaf; null without messages. */
  readonly leafId: string | null;
  /** Every message of every branch. */
  readonly stored: number;
  readonly compactions: StoredCompaction[];
  /** Sessions that were forked or split off this one, newest first, at most 100. */
  readonly children: { readonly id: string; readonly name: string }[];
  readonly skills: { readonly loaded: SkillRow[]; readonly unloaded: SkillRow[] };
  /** Differs whenever something of the session changed. */
  readonly change: string;
}

export interface SkillRow {
  readonly label: string;
  readonly key: string;
}

/** `GET change?id`: for the page to ask every second. */
export interface ChangeView {
  readonly change: string;
}

/**
 * `GET messages?id&leaf&from&direction&limit`: a piece of the path to `leaf` (default: the active leaf), as the model sees
 * it: summaries stand for what they cover. Without `from` the newest; `direction=older` gives those before message `from`,
 * `newer` those behind it, `around` both and itself. `compaction=<id>` gives what lies beneath that summary instead, and
 * `originals=1` the path without summaries.
 */
export interface MessagePage {
  /** Oldest first. */
  readonly messages: MessageRow[];
  /** There are messages before the first. */
  readonly hasOlder: boolean;
  /** There are messages behind the last. */
  readonly hasNewer: boolean;
  /**
   * The leaf that was read and whether summaries were left out. They differ from the request where `around` names a message
   * that is not visible there: then it is the path to that message, or the path without summaries.
   */
  readonly leafId: string | null;
  readonly originals: boolean;
}

export interface MessageRow {
  /** Media are replaced by their size (`MediaStub`); `GET media` has them. */
  readonly message: HistoryMessage;
  readonly tokens: number;
  /** Itself among them, in the order in which they were written; one id where there are no others. */
  readonly siblings: readonly string[];
  /** Of a summary's message: which compaction it is. */
  readonly compactionId: string | null;
}

/** Stands in a part in the place of a `data:` URL or base64 text: the fields `url`, `data` or `image`. */
export interface MediaStub {
  readonly $media: {
    readonly mediaType: string | null;
    readonly bytes: number;
    /** For `GET media?id&message&path`: where it stands in the message, as a JSON Pointer. */
    readonly path: string;
  };
}

/**
 * `GET turns?id&after&limit` answers a `TurnList`: the requests of which something is kept, newest first.
 * `GET tree?id&after&limit` answers a `TreePage`: every message of every branch, newest first.
 */
export type { SessionOrder, TreePage, TreeRow, TurnList, TurnRow };

/** `GET context?id&turn`: with `turn` (a message's id) what was sent for it, otherwise the next request. */
export interface ContextView {
  /** Null where nothing is kept of the turn, or where the blocks are not known (no manager) and there is no turn. */
  readonly explanation: ContextExplanation | null;
  /** The blocks as they are now, with the budget where the program set one. */
  readonly blocks: readonly {
    readonly label: string;
    readonly tokens: number;
    readonly maxTokens: number | null;
    readonly version: number | null;
  }[];
  /** The frozen prompt; null while none is frozen. */
  readonly frozenPrompt: string | null;
  /** The prompt as a refresh would make it; null without a manager. */
  readonly currentPrompt: string | null;
}

/** Whose blocks and entries: exactly one of `session`, `user`, `key` is a query parameter of the routes of memory. */
export type { MemoryOwner } from "@stemma/store";

/** `GET owners?kind=user|key&after&limit`: users and keys that have blocks or entries, in the order of their names. */
export interface OwnerList {
  readonly owners: string[];
  readonly next: string | null;
}

/** `GET memory?<owner>`. */
export interface MemoryView {
  readonly blocks: MemoryBlock[];
  /** Labels under which there are entries. */
  readonly collections: { readonly label: string; readonly count: number }[];
}

export interface MemoryBlock {
  readonly label: string;
  readonly content: string;
  readonly tokens: number;
  readonly version: number;
  readonly updatedAt: string;
}

/** `GET entries?<owner>&label&prefix&after&limit`: in the order of their keys, those that have ended too. */
export interface EntryList {
  readonly entries: EntryRow[];
  readonly next: string | null;
}

/** An entry in a list. */
export interface EntryRow extends Pick<EntryFact, "validFrom" | "validTo" | "tags"> {
  readonly key: string;
  /** Its beginning. */
  readonly preview: string;
  /** False for one that has ended, or only begins. */
  readonly holds: boolean;
  readonly updatedAt: string;
}

/** `GET entry?<owner>&label&entry`: an entry in full. */
export interface EntryView {
  /** Null for one that was removed, or never was. */
  readonly entry:
    | (EntryFact & {
        readonly content: string;
        readonly holds: boolean;
        readonly supersededBy: readonly string[];
        readonly createdAt: string;
        readonly updatedAt: string;
      })
    | null;
  /** The message that it was last noted from; null where none is known. */
  readonly message: { readonly sessionId: string; readonly messageId: string } | null;
  /** The newest version that says something. */
  readonly lastVersion: number | null;
}

/** `GET versions?<owner>&label&entry`: of a block, or with `entry` of the entry of this key; newest first. */
export interface VersionList {
  readonly versions: StoredVersion[];
}

/** `GET writes?id&message`: everything that was remembered of a message of the session. */
export interface WriteList {
  readonly writes: RememberedRow[];
}

export type RememberedRow = RememberedVersion;

/** `GET usage?by=day|model|session&id&user&from&to`: days as `2026-11-22`, in UTC; by day the newest first, otherwise the costliest; at most 400. */
export interface UsageView {
  readonly rows: UsageRow[];
  readonly total: UsageSum;
  /** Sums of compactions: by day, or of one session each; otherwise by session. */
  readonly compactions: {
    readonly by: CompactionSumRequest["by"];
    readonly rows: Named<CompactionSum>[];
    readonly total: Saved;
  };
}

/** Compactions, and the tokens of what they cover and of their summaries. */
export type Saved = Omit<CompactionSum, "name">;

/** The day, the model, or the session's id, with what was used. */
export type UsageRow = Named<UsageOf>;

/** A row of a session, which may have a name. */
export type Named<R> = R & { readonly sessionName?: string | undefined };

export type UsageSum = Omit<UsageOf, "name">;

/** The answer of each route that reads. */
export interface StudioReads {
  info: StudioInfo;
  sessions: SessionList;
  search: SearchResults;
  session: SessionView;
  change: ChangeView;
  messages: MessagePage;
  tree: TreePage;
  turns: TurnList;
  context: ContextView;
  owners: OwnerList;
  memory: MemoryView;
  entries: EntryList;
  entry: EntryView;
  versions: VersionList;
  writes: WriteList;
  usage: UsageView;
}

/** The body of each route that writes. Each answers `{}` or what stands behind it. `GET export?id&format=jsonl|markdown|html` answers a file. */
export interface StudioWrites {
  rename: { readonly id: string; readonly name: string };
  /** Makes the newest leaf below the message active. */
  select: { readonly id: string; readonly messageId: string };
  /** Answers `{ id }` of the new session. */
  fork: { readonly id: string; readonly messageId: string; readonly name: string };
  /** Answers `{ compacted: boolean }`. Only with a manager that has a compaction function. */
  compact: { readonly id: string };
  uncompact: { readonly id: string; readonly compactionId: string };
  /** Writes the text as a sibling of the message, which becomes active. Answers `{ id }` of it. */
  edit: { readonly id: string; readonly messageId: string; readonly text: string };
  /** Removes these messages; their children move to the parent. */
  "delete-messages": { readonly id: string; readonly messageIds: readonly string[] };
  /** Removes a message with everything below it. Answers `{ deleted: number }`. */
  "delete-branch": { readonly id: string; readonly messageId: string };
  "delete-session": { readonly id: string };
  /** Fails with 409 `BLOCK_CONFLICT` and `details.block` when the block has another version by now. */
  "edit-block": {
    readonly owner: MemoryOwner;
    readonly label: string;
    readonly content: string;
    readonly expectedVersion: number;
  };
  /** Changes what an entry says, and when it holds. Fails with 409 `ENTRY_CONFLICT` when it says something else by now. */
  "edit-entry": {
    readonly owner: MemoryOwner;
    readonly label: string;
    readonly key: string;
    readonly content: string;
    /** ISO text; null takes it away. A field that is missing stays. */
    readonly validFrom?: string | null;
    readonly validTo?: string | null;
    readonly expectedContent: string;
  };
  /** Removes an entry. Its versions stay, unless its block keeps none. */
  "forget-entry": { readonly owner: MemoryOwner; readonly label: string; readonly key: string };
  "restore-version": {
    readonly owner: MemoryOwner;
    readonly label: string;
    readonly key: string | null;
    readonly version: number;
  };
}
