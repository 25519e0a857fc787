import type { ChatFact } from "stemma/ai-sdk";

// Learning tags a fact with its subject.
const SUBJECT = "subject:";

/** Tells what a fact is about: its subject, or else its first tag. */
function subjectOf({ tags }: ChatFact): string {
  const subject = tags.find((tag) => tag.startsWith(SUBJECT))?.slice(SUBJECT.length) ?? tags[0] ?? "";
  return subject === "" ? OTHER : subject[0]?.toUpperCase() + subject.slice(1).replaceAll("-", " ");
}

const OTHER = "Other";

/** The facts about one thing. */
export interface Subject {
  readonly name: string;
  readonly present: ChatFact[];
  /** What has ended, or only begins. */
  readonly others: ChatFact[];
}

/** Facts by what they are about, in the order of the names; the oldest comes first. */
export function bySubject(facts: readonly ChatFact[]): Subject[] {
  const groups = Map.groupBy(inOrder(facts), subjectOf);
  const names = [...groups.keys()].sort((a, b) => Number(a === OTHER) - Number(b === OTHER) || (a < b ? -1 : 1));
  return names.map((name) => {
    const all = groups.get(name) ?? [];
    return { name, present: all.filter(({ holds }) => holds), others: all.filter(({ holds }) => !holds) };
  });
}

/** The oldest first. */
export function inOrder(facts: readonly ChatFact[]): ChatFact[] {
  const time = ({ validFrom, createdAt }: ChatFact) => Date.parse(validFrom ?? createdAt);
  return facts.toSorted((a, b) => time(a) - time(b));
}

/** Tells one fact from the others. */
export function idOf({ label, key }: Pick<ChatFact, "label" | "key">): string {
  return JSON.stringify([label, key]);
}

/** When a fact holds, as `since June 2025`; an empty text where nothing is known of it. */
export function spanOf({ validFrom, validTo, holds }: Pick<ChatFact, "validFrom" | "validTo" | "holds">): string {
  const hasBegun = validFrom === null || new Date(validFrom) <= new Date();
  if (!hasBegun) return `from ${dateOf(validFrom)}`;
  if (!holds && validFrom !== null && validTo !== null) return `${dateOf(validFrom)} – ${dateOf(validTo)}`;
  const since = validFrom === null ? [] : [`since ${dateOf(validFrom)}`];
  const until = validTo === null ? [] : [`until ${dateOf(validTo)}`];
  return [...since, ...until].join(", ");
}

// What begins with a month says no day. Dates are stored in UTC.
function dateOf(iso: string): string {
  const isMonth = iso.endsWith("-01T00:00:00.000Z");
  const day = isMonth ? {} : ({ day: "numeric" } as const);
  return new Date(iso).toLocaleDateString("en", { ...day, month: "long", year: "numeric", timeZone: "UTC" });
}
