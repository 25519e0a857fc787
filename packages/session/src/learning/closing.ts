import { type EntryFields, type ListedEntry, subjectOf } from "@stemma/store";
import type { LearnEdit, LearnEntry } from "./edits.js";
import { subjectIn, withSubject } from "./subjects.js";

/** An entry as it stands among those that took each other's place. */
export type Link = Pick<ListedEntry, "key" | "validFrom" | "validTo" | "supersedes" | "tags">;

/** The entries that an edit may close, and the dates of its messages. */
export interface ShownEntries {
  /** The entry that the edit writes, as it is now; null for a new one. */
  readonly written: ListedEntry | null;
  /** The entries of the edit's block that were shown. */
  readonly shown: readonly LearnEntry[];
  /** An entry as it is now. */
  readonly entry: (key: string) => ListedEntry | null;
  /** An entry as it is now, or as an earlier edit of the answer leaves it. */
  readonly link: (key: string) => Link | null;
  /** When a message was written, as ISO text; null where that is not known. */
  readonly dateOf: (messageId: string) => string | null;
}

/** The times that an edit gives its entry, and why what else it would close stays open. */
export interface Closing {
  readonly fields: EntryFields;
  /** Keys of entries that began later and take its place. */
  readonly supersededBy: readonly string[];
  /** When these begin; null where there are none. */
  readonly until: string | null;
  readonly refused: readonly string[];
}

/** When the fact of an edit began: when it says, or else when it was told. Null where neither is known. */
export function beginningOf(edit: LearnEdit, dateOf: ShownEntries["dateOf"]): string | null {
  return isoDate(edit.validFrom) ?? toldAt(edit, dateOf);
}

// The clock of whoever wrote a message may be ahead: what was told holds.
function toldAt({ messageIds }: LearnEdit, dateOf: ShownEntries["dateOf"]): string | null {
  const [latest = null] = messageIds
    .flatMap((id) => dateOf(id) ?? [])
    .sort()
    .reverse();
  const now = new Date().toISOString();
  return latest !== null && latest > now ? now : latest;
}

/**
 * The time of the entry that an edit adds, and what it closes: entries that were shown, have not changed since, are of its subject
 * and began earlier. Where one of these began later, what is told late takes its place among those that came before that one.
 */
export function closingOf(edit: LearnEdit, { written, shown, entry, link, dateOf }: ShownEntries): Closing {
  const named = [...new Set(edit.supersedes ?? [])];
  const subject = subjectIn(edit.subject);
  // What is not new stays as old as it is, unless it takes another's place.
  const isOld = written !== null && named.length === 0;
  const told = isoDate(edit.validFrom);
  const now = new Date().toISOString();
  // A clock that went back tells no order: what is told now comes after what was written before.
  const ahead =
    told !== null ? [] : named.flatMap((key) => entry(key) ?? []).filter(({ createdAt }) => createdAt > now);
  const [validFrom = null] = [isOld ? told : beginningOf(edit, dateOf), ...ahead.map((each) => each.validFrom)]
    .filter((time) => time !== null)
    .sort()
    .reverse();
  const refused: string[] = [];
  const supersedes = new Set<string>();
  const later: Link[] = [];
  for (const key of named) {
    const before = shown.find((each) => each.key === key);
    const present = entry(key);
    const own = present === null ? null : subjectOf(present.tags);
    if (before === undefined) refused.push(`"${key}" was not shown`);
    else if (present === null || present.content !== before.content) refused.push(`"${key}" was changed meanwhile`);
    else if (present.validTo !== null) refused.push(`"${key}" has an end already`);
    else if (own === null ? named.length > 1 : own !== subject) refused.push(`"${key}" is of another subject`);
    else if (present.validFrom === null || validFrom === null || present.validFrom < validFrom) supersedes.add(key);
    else if (present.validFrom > validFrom) {
      const place = placeBefore(present, validFrom, subject, link);
      later.push(place.next);
      for (const each of place.before) supersedes.add(each);
      // Where nobody said when, what is told next is what holds next.
    } else if (told === null) supersedes.add(key);
    else refused.push(`"${key}" began at the same time`);
  }
  const [until = null] = later.flatMap((each) => each.validFrom ?? []).sort();
  const fields: EntryFields = {
    ...(validFrom !== null && { validFrom }),
    ...(supersedes.size > 0 && { supersedes: [...supersedes] }),
    ...(subject !== null && { tags: withSubject(written?.tags ?? [], subject) }),
  };
  return { fields, supersededBy: [...new Set(later.map(({ key }) => key))], until, refused };
}

// Where a beginning belongs among what an entry and its predecessors took the place of: before `next`, behind `before`.
function placeBefore(
  entry: ListedEntry,
  validFrom: string,
  subject: string | null,
  link: ShownEntries["link"],
): { readonly next: Link; readonly before: readonly string[] } {
  let next: Link = link(entry.key) ?? entry;
  const before: string[] = [];
  const seen = new Set<string>();
  const left = [...next.supersedes];
  for (let key = left.pop(); key !== undefined; key = left.pop()) {
    const each = seen.has(key) ? null : link(key);
    seen.add(key);
    if (each === null || (subjectOf(each.tags) ?? subject) !== subject) continue;
    if (each.validFrom !== null && each.validFrom > validFrom) {
      if (each.validFrom < (next.validFrom ?? "")) next = each;
      left.push(...each.supersedes);
    } else if (each.validFrom !== validFrom && (each.validTo === null || each.validTo > validFrom)) before.push(key);
  }
  return { next, before };
}

const DATE = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d))?$/;

/** A date or a time with a zone as ISO text in UTC; null for what is none. */
function isoDate(text: unknown): string | null {
  if (typeof text !== "string" || !DATE.test(text)) return null;
  const date = new Date(text);
  return Number.isNaN(date.getTime()) || !/^\d{4}-/.test(date.toISOString()) ? null : date.toISOString();
}
