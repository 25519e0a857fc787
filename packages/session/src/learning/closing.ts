import { type EntryFields, type ListedEntry, subjectOf } from "@stemma/store";
import type { LearnEdit, LearnEntry } from "./edits.js";
import { subjectIn, withSubject } from "./subjects.js";

/** The entries that an edit may close, and the dates of its messages. */
export interface ShownEntries {
  /** The entry that the edit writes, as it is now; null for a new one. */
  readonly written: ListedEntry | null;
  /** The entries of the edit's block that were shown. */
  readonly shown: readonly LearnEntry[];
  /** An entry as it is now. */
  readonly entry: (key: string) => ListedEntry | null;
  /** When a message was written, as ISO text; null where that is not known. */
  readonly dateOf: (messageId: string) => string | null;
}

/** The times that an edit gives its entry, and why what else it would close stays open. */
export interface Closing {
  readonly fields: EntryFields;
  readonly refused: readonly string[];
}

/**
 * The time of the entry that an edit adds, and what it closes: entries that were shown, have not changed since, are of its subject
 * and began earlier. Where one of these began later, what is told late arrives closed instead.
 */
export function closingOf(edit: LearnEdit, { written, shown, entry, dateOf }: ShownEntries): Closing {
  const named = [...new Set(edit.supersedes ?? [])];
  const subject = subjectIn(edit.subject);
  const told = isoDate(edit.validFrom);
  // What takes another's place began when it was said, unless it says when.
  const said = edit.messageIds
    .map(dateOf)
    .reduce((latest, date) => ((date ?? "") > (latest ?? "") ? date : latest), null);
  const validFrom = told ?? (named.length > 0 ? said : null);
  const refused: string[] = [];
  const supersedes: string[] = [];
  const later: string[] = [];
  for (const key of named) {
    const before = shown.find((each) => each.key === key);
    const present = entry(key);
    const own = present === null ? null : subjectOf(present.tags);
    if (before === undefined) refused.push(`"${key}" was not shown`);
    else if (present === null || present.content !== before.content) refused.push(`"${key}" was changed meanwhile`);
    else if (present.validTo !== null) refused.push(`"${key}" has an end already`);
    else if (own === null ? named.length > 1 : own !== subject) refused.push(`"${key}" is of another subject`);
    else if (present.validFrom === null || validFrom === null || present.validFrom < validFrom) supersedes.push(key);
    else if (present.validFrom > validFrom) later.push(present.validFrom);
    else refused.push(`"${key}" began at the same time`);
  }
  const [validTo] = later.sort();
  const fields: EntryFields = {
    ...(validFrom !== null && { validFrom }),
    ...(validTo !== undefined && { validTo }),
    ...(supersedes.length > 0 && { supersedes }),
    ...(subject !== null && { tags: withSubject(written?.tags ?? [], subject) }),
  };
  return { fields, refused };
}

const DATE = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d))?$/;

/** A date or a time with a zone as ISO text in UTC; null for what is none. */
function isoDate(text: unknown): string | null {
  if (typeof text !== "string" || !DATE.test(text)) return null;
  const date = new Date(text);
  return Number.isNaN(date.getTime()) || !/^\d{4}-/.test(date.toISOString()) ? null : date.toISOString();
}
