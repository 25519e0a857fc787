import type { BlockScope, ListedEntry, VersionOptions } from "./memory.js";

/** Usage of a model by a function of the program, as that tells it. */
export interface ToldUsage {
  /** Default 0. */
  readonly inputTokens?: number | undefined;
  /** Default 0. */
  readonly outputTokens?: number | undefined;
  /** In your currency. Default: not known. */
  readonly cost?: number | undefined;
}

/** Entries that say the same, and the one that is to say it for them. */
export interface EntryMerge {
  readonly label: string;
  /** The key of the new entry. Where it is taken, another one is made of it. */
  readonly key: string;
  readonly content: string;
  /** The entries that it supersedes, at least two, with what they said when it was proposed. */
  readonly originals: readonly { readonly key: string; readonly content: string }[];
}

/** Entries of one label that may say the same. */
export interface MergeRequest {
  readonly label: string;
  /** Each entry is in one group at most; the groups whose entries are most alike come first. */
  readonly groups: readonly (readonly ListedEntry[])[];
  /** Asks a model for the merges, as JSON. */
  readonly prompt: string;
}

/** A merge as an `extract` proposes it. */
export interface ProposedMerge {
  /** The keys of entries that it was given, at least two. */
  readonly keys: readonly string[];
  /** The one text that says what they say. */
  readonly content: string;
  /** A title for the new entry. Default: made of the content. */
  readonly key?: string | undefined;
}

/** An answer of the `extract` of `consolidate`: merges, or a model's text, in which they are read; its usage may stand beside it. */
export type ExtractedMerges =
  | string
  | readonly ProposedMerge[]
  | {
      readonly text?: string | undefined;
      readonly merges?: readonly ProposedMerge[] | undefined;
      readonly usage?: ToldUsage | undefined;
    }
  | null;

/** Which entries are consolidated, how, and how far. */
export interface ConsolidateOptions extends Pick<VersionOptions, "keepVersions"> {
  /** Whose entries. Default: the user's. */
  readonly scope?: BlockScope | undefined;
  /** The session whose entries they are, or whose user's, and for which usage is counted. Default: none. */
  readonly sessionId?: string | undefined;
  /** Only entries under this label. Default: all labels, each by itself. */
  readonly label?: string | undefined;
  /** Milliseconds since 1970, or a `Date`: only entries that are near one that was written at this time or later. Default: all. */
  readonly after?: number | Date | undefined;
  /**
   * Finds in groups of near entries those that say the same: rules, or a model that answers to `prompt`. What it throws is the
   * cause of a `LEARNING_FAILED`. Default: only entries with the same text say the same; case, spaces and the full stop do not count.
   */
  readonly extract?: ((request: MergeRequest) => ExtractedMerges | PromiseLike<ExtractedMerges>) | undefined;
  /** How long `extract` may take each time, in milliseconds. Default: two minutes. */
  readonly timeout?: number | undefined;
  /**
   * Once the calls of `extract` have cost so much, as their `usage.cost` tells, no further one begins. A call that tells no cost is
   * the last one, too. Default: no limit.
   */
  readonly maxCost?: number | undefined;
  /** How many entries are closed at most. Default 100. */
  readonly limit?: number | undefined;
  /** True: only says what would be merged. Default false. */
  readonly dryRun?: boolean | undefined;
  /** Makes these merges, as a call with `dryRun` proposed them, and asks nothing. Default: none. */
  readonly apply?: readonly EntryMerge[] | undefined;
  /** Takes back these merges, as a call made them. Default: none. */
  readonly undo?: readonly EntryMerge[] | undefined;
}

/** An account of what `consolidate` did, or with `dryRun` would do. */
export interface Consolidation {
  readonly dryRun: boolean;
  /** The merges as they were stored, proposed or taken back: for `apply` and `undo`. */
  readonly merges: readonly EntryMerge[];
  /** Merges that were not made, or not taken back, and why. */
  readonly skipped: readonly { readonly merge: EntryMerge | ProposedMerge; readonly reason: string }[];
  /** As `extract` told it. */
  readonly usage: { readonly inputTokens: number; readonly outputTokens: number; readonly cost: number };
}

/** The name under which the usage of `extract` is counted. */
export const CONSOLIDATION = "consolidation";
