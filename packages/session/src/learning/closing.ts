import { type EntryFields, type ListedEntry, SUBJECT_TAG, subjectOf } from "@stemma/store";
import { type LearnEdit, type LearnEntry, refused } from "./edits.js";
import { subjectIn, withSubject } from "./subjects.js";

/** An entry as it stands among those that took each other's place. */
export type Link = Pick<ListedEntry, "key" | "validFrom" | "validTo" | "supersedes" | "tags" | "createdAt">;

/** The entries that an edit may close, and the dates of its messages. */
export interface ShownEntries {
  /** The key that the edit writes. */
  readonly key: string;
  /** The entry that is there, as it is now or as an earlier edit of the answer leaves it; null for a new one. */
  readonly written: Link | null;
  /** The entries of the edit's block that were shown. */
  readonly shown: readonly LearnEntry[];
  /** An entry as it is now. */
  readonly entry: (key: string) => ListedEntry | null;
  /** An entry as it is now, or as an earlier edit of the answer leaves it. */
  readonly link: (key: string) => Link | null;
  /** The entry that an earlier edit of the answer added under this key; null for none. */
  readonly added: (key: string) => Link | null;
  /** The entries that earlier edits of the answer wrote to the block. */
  readonly answered: readonly Link[];
  /** When a message was written, as ISO text; null where that is not known. */
  readonly dateOf: (messageId: string) => string | null;
}

/** The times that an edit gives its entry, and what else it says that is left out. */
export interface Closing {
  readonly fields: EntryFields;
  /** Keys of entries that began later and take its place. */
  readonly supersededBy: readonly string[];
  /** When it ends, by itself or by these; null where it does not. */
  readonly until: string | null;
  /** The parts that are left out, and why. */
  readonly notes: readonly string[];
}

/** When the fact of an edit began: when it says, or else when it was told. Null where neither is known. */
export function beginningOf(edit: LearnEdit, dateOf: ShownEntries["dateOf"]): string | null {
  const told = readDate(edit.validFrom);
  const since = told === undefined ? toldAt(edit, dateOf) : told;
  const end = told === undefined ? readDate(edit.validTo) : null;
  // What had ended when it was told began before.
  return end && since !== null && end <= since ? null : since;
}

// The clock of whoever wrote a message may be ahead: what was told holds.
function toldAt({ messageIds }: LearnEdit, dateOf: ShownEntries["dateOf"]): string | null {
  const [latest = null] = (Array.isArray(messageIds) ? messageIds : [])
    .flatMap((id) => dateOf(id) ?? [])
    .sort()
    .reverse();
  const now = new Date().toISOString();
  return latest !== null && latest > now ? now : latest;
}

/** The latest time at which an entry began to hold: where its beginning is unknown, it held when it was written. Null where a clock went back. */
export function heldSince({ validFrom, createdAt }: Pick<Link, "validFrom" | "createdAt">): string | null {
  return validFrom ?? (createdAt > new Date().toISOString() ? null : createdAt);
}

/**
 * The time of the entry that an edit adds, and what it closes: entries that were shown or that the answer adds, have not changed since,
 * are of its subject and began earlier. Where one of these began later, what is told late takes its place among those that came before
 * that one. Errors: `LEARNING_FAILED` for an end that is none.
 */
export function closingOf(edit: LearnEdit, entries: ShownEntries): Closing {
  const { key: own, written, shown, entry, link, added, answered, dateOf } = entries;
  const named = [...new Set(edit.supersedes ?? [])];
  const notes: string[] = [];
  const { tags, subject } = tagsOf(edit, written, notes);
  const told = readDate(edit.validFrom);
  // What is not new stays as old as it is, unless it takes another's place.
  const isOld = written !== null && named.length === 0;
  const now = new Date().toISOString();
  // A clock that went back tells no order: what is told now comes after what was written before.
  const ahead =
    told !== undefined ? [] : named.flatMap((key) => entry(key) ?? []).filter(({ createdAt }) => createdAt > now);
  const begun = isOld ? (told ?? null) : beginningOf(edit, dateOf);
  const predecessors = (written?.supersedes ?? []).flatMap((key) => link(key) ?? []);
  const stays = begun !== null && predecessors.some((each) => (heldSince(each) ?? "") >= begun);
  if (stays) notes.push("its beginning stays: what it took the place of began later");
  const begins = stays ? (isOld ? null : (written?.validFrom ?? null)) : begun;
  const [validFrom = null] = [begins, ...ahead.map((each) => each.validFrom)]
    .filter((time) => time !== null)
    .sort()
    .reverse();
  const end = endOf(edit, validFrom ?? (written && heldSince(written)));
  const supersedes = new Set<string>();
  const later: Link[] = [];
  const place = (other: Link) => {
    const began = heldSince(other);
    const since = validFrom ?? end;
    if (since === null || began === null) supersedes.add(other.key);
    else if (began > since || (began === since && validFrom === null)) {
      const { next, before } = placeBefore(other, since, subject, (each) => (each === own ? null : link(each)));
      later.push(next);
      for (const each of before) supersedes.add(each);
    } else if (validFrom === null) return `when it began is unknown, and "${other.key}" holds already`;
    // Where nobody said when, what is told next is what holds next.
    else if (began < since || other.validFrom === null || told === undefined) supersedes.add(other.key);
    else return `"${other.key}" began at the same time`;
    return null;
  };
  const close = (key: string) => {
    const before = shown.find((each) => each.key === key);
    const other = before === undefined ? added(key) : null;
    const present = other ?? entry(key);
    const about = present === null ? null : subjectOf(present.tags);
    if (before === undefined && other === null) return `"${key}" was not shown`;
    if (present === null || (before !== undefined && entry(key)?.content !== before.content))
      return `"${key}" was changed meanwhile`;
    if (other === null && present.validTo !== null) return `"${key}" has an end already`;
    if (about === null ? named.length > 1 : about !== subject) return `"${key}" is of another subject`;
    return place(present);
  };
  const refusals = told === null ? ["its validFrom is no date"] : named.map(close);
  // Others of the answer that take the same place stand before it or behind it.
  const beside = answered.filter(
    ({ key, supersedes: theirs, tags }) =>
      !supersedes.has(key) && theirs.some((each) => supersedes.has(each)) && (subjectOf(tags) ?? subject) === subject,
  );
  refusals.push(...beside.map(place));
  const isClosing = named.length > 0;
  for (const reason of refusals) {
    if (reason !== null) notes.push(isClosing ? `nothing is closed: ${reason}` : `its beginning is unknown: ${reason}`);
  }
  const [until = null] = later
    .flatMap((each) => heldSince(each) ?? [])
    .concat(end ?? [])
    .sort();
  const fields: EntryFields = {
    ...(validFrom !== null && { validFrom }),
    ...(end !== null && { validTo: end }),
    ...(supersedes.size > 0 && { supersedes: [...supersedes] }),
    ...(tags !== null && { tags }),
  };
  return { fields, supersededBy: [...new Set(later.map(({ key }) => key))], until, notes };
}

function endOf(edit: LearnEdit, since: string | null): string | null {
  const end = readDate(edit.validTo);
  if (end === null) throw refused("its validTo is no date");
  if (end !== undefined && since !== null && end <= since) throw refused("it ends before it begins");
  return end ?? null;
}

// Null where an edit says nothing of them.
function tagsOf({ subject: given, tags = [] }: LearnEdit, written: Link | null, notes: string[]) {
  const isList = Array.isArray(tags) && tags.every((tag) => typeof tag === "string" && tag !== "");
  if (!isList) notes.push("left out: tags, which are no list of texts");
  const added = isList ? tags.map((tag) => tag.replaceAll("\0", "").toWellFormed()) : [];
  const subject = subjectIn(given ?? subjectOf(added));
  if (given && subject === null) notes.push("left out: subject, which is no word of at most 60 characters");
  if (added.length === 0 && subject === null) return { subject, tags: null };
  const all = [...(written?.tags ?? []), ...added.filter((tag) => !tag.startsWith(SUBJECT_TAG))];
  return { subject, tags: subject === null ? all : withSubject(all, subject) };
}

// Where a beginning belongs among what an entry and its predecessors took the place of: before `next`, behind `before`.
function placeBefore(
  entry: Link,
  since: string,
  subject: string | null,
  link: ShownEntries["link"],
): { readonly next: Link; readonly before: readonly string[] } {
  let next = link(entry.key) ?? entry;
  const before: string[] = [];
  const seen = new Set<string>();
  const left = [...next.supersedes];
  for (let key = left.pop(); key !== undefined; key = left.pop()) {
    const each = seen.has(key) ? null : link(key);
    seen.add(key);
    if (each === null || (subjectOf(each.tags) ?? subject) !== subject) continue;
    const began = heldSince(each);
    if (began !== null && began > since) {
      if (began < (heldSince(next) ?? "")) next = each;
      left.push(...each.supersedes);
    } else if (each.validFrom !== since && (each.validTo === null || each.validTo > since)) before.push(key);
  }
  return { next, before };
}

const DATE = /^(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(?:(Z)|([+-]\d\d):?(\d\d))?)?)?)?$/;

/**
 * A year, a month, a date or a time as ISO text in UTC: a year begins on January 1, and a time without a zone is one of UTC.
 * Undefined where nothing is given, null for what is no date.
 */
export function readDate(given: unknown): string | null | undefined {
  if (given === undefined || given === null || given === "") return undefined;
  const found = typeof given === "string" || typeof given === "number" ? DATE.exec(String(given).trim()) : null;
  if (found === null) return null;
  const [, year, month = "01", day = "01", time = "00:00", , hours, minutes] = found;
  const date = `${year}-${month}-${day}`;
  const midnight = new Date(`${date}T00:00Z`);
  const read = new Date(`${date}T${time}${hours === undefined ? "Z" : `${hours}:${minutes}`}`);
  if (Number.isNaN(midnight.getTime()) || Number.isNaN(read.getTime())) return null;
  // Date takes February 30 for a day of March. A zone may lead out of the years that are stored.
  const isDate = midnight.toISOString().startsWith(date) && /^\d{4}-/.test(read.toISOString());
  return isDate ? read.toISOString() : null;
}
