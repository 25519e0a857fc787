/**
 * Where a fact comes from, the most trustworthy first: the user said or edited it, an import brought it, a tool gave it, it was
 * learned from a conversation, or it stood in the web.
 */
export const FACT_ORIGINS = ["user", "import", "tool", "learning", "web"] as const;

/** Where a fact comes from. `FACT_ORIGINS` orders them. */
export type FactOrigin = (typeof FACT_ORIGINS)[number];

/**
 * The time, tags and origin of an entry. Each time is ISO text with a zone (`2026-06-01T12:00+02:00`), or a
 * date, which begins at midnight UTC; it is stored as `Date.prototype.toISOString` gives it, from the year 0 to 9999.
 */
export interface EntryFact {
  /** When it began to hold in the world, inclusive; null where that is unknown. */
  readonly validFrom: string | null;
  /** When it ceases to hold in the world, exclusive; null: it holds. */
  readonly validTo: string | null;
  /** From then on prompts, searches and lists lack it, `get` still answers, and retention removes it; null for never. */
  readonly expiresAt: string | null;
  /** Keys of the entries of its scope that it takes the place of. */
  readonly supersedes: readonly string[];
  /** Words to filter by. */
  readonly tags: readonly string[];
  /** Null where it is unknown. An entry that supersedes others has the least trustworthy origin of theirs and its own. */
  readonly origin: FactOrigin | null;
}

/** True for what holds in the world at a time, by default now. Whether it has expired does not count. */
export function holdsAt(
  { validFrom, validTo }: Pick<EntryFact, "validFrom" | "validTo">,
  time = new Date().toISOString(),
): boolean {
  return (validFrom === null || validFrom <= time) && (validTo === null || time < validTo);
}

/** Fields of an `EntryFact` to write: one that is left out stays as it is; null and [] take it away. */
export type EntryFields = { readonly [Field in keyof EntryFact]?: EntryFact[Field] | undefined };

/** One of the things that end an entry. */
export interface EntryEnd {
  /** ISO time, exclusive. */
  readonly validTo: string;
  /** ISO time when it was written. */
  readonly invalidatedAt: string;
  /** The key of the entry that supersedes it; null where its own `validTo` says so. */
  readonly by: string | null;
}

/** The fields of an entry in a version, and all that ended it then. */
export interface VersionFact extends EntryFact {
  readonly ends: readonly EntryEnd[];
  /** True: it says what those say that it supersedes. Without a beginning it stands for them at all times. Default: it takes their place. */
  readonly merges?: boolean;
}

/** Which entries a read gives. Default: those that hold now. */
export interface EntryView {
  /** True: also entries that have ended, and those that only begin. */
  readonly includeEnded?: boolean | undefined;
  /** True: also entries that have expired. */
  readonly includeExpired?: boolean | undefined;
  /** Only entries that held in the world at this time. ISO time, as in `EntryFact`. Default: `knownAt`, else now. */
  readonly asOf?: string | undefined;
  /**
   * Gives what the store knew at this time: entries written later are left out, ends that were learned later do not count, and an
   * edited or removed entry is given as its version of then. What was erased, and what has no version of then, is missing.
   * ISO time. Default: now. Search looks for the present words.
   */
  readonly knownAt?: string | undefined;
  /** Only entries that it fits. Default: all. */
  readonly filter?: EntryFilter | undefined;
}

/** A value that a field is compared with. */
export type FilterScalar = string | number | boolean | null;

/**
 * A field equals a scalar, is one `in` a list, is `gte` (at least) or `lt` (below) a text or a number; all that are given must
 * hold. Only values of one type compare. A missing field equals null.
 */
export type FieldFilter =
  | FilterScalar
  | {
      readonly in?: readonly FilterScalar[] | undefined;
      readonly gte?: string | number | undefined;
      readonly lt?: string | number | undefined;
    };

/** A condition on entries; all parts that are given must hold. */
export interface EntryFilter {
  /** The entry has all of these tags. */
  readonly tags?: readonly string[] | undefined;
  /** By a field of the entry's `value`, or a path of fields joined by dots. */
  readonly value?: Readonly<Record<string, FieldFilter>> | undefined;
  /** All of these hold. */
  readonly and?: readonly EntryFilter[] | undefined;
  /** At least one of these holds. */
  readonly or?: readonly EntryFilter[] | undefined;
}

/** The beginning of the tag that names what an entry is about, as `subject:home`. */
export const SUBJECT_TAG = "subject:";

/** The subject that tags name; null for none. */
export function subjectOf(tags: readonly string[]): string | null {
  return tags.find((tag) => tag.startsWith(SUBJECT_TAG))?.slice(SUBJECT_TAG.length) ?? null;
}
