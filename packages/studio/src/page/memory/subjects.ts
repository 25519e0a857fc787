import type { EntryFact } from "@stemma/store";
import type { EntryRow } from "../../api.js";
import { dayInUtc } from "../format.js";

// Learning tags an entry with its subject.
const SUBJECT = "subject:";

/** A row of a list of entries: a subject's name, an entry, or a line that folds those of a subject that do not hold now. */
export type SubjectRow =
  | { readonly kind: "subject"; readonly name: string }
  | { readonly kind: "entry"; readonly entry: EntryRow }
  | { readonly kind: "fold"; readonly name: string; readonly count: number; readonly isOpen: boolean };

/** Tells what an entry is about: its subject, or else its first tag; an empty text for none. */
export function subjectOf({ tags }: Pick<EntryFact, "tags">): string {
  return tags.find((tag) => tag.startsWith(SUBJECT))?.slice(SUBJECT.length) ?? tags[0] ?? "";
}

/** Entries by what they are about, in the order of the names; those without a subject come last. Only open folds show what they hold. */
export function bySubject(entries: readonly EntryRow[], open: ReadonlySet<string>): SubjectRow[] {
  const groups = new Map<string, EntryRow[]>();
  for (const entry of entries) {
    const subject = subjectOf(entry);
    const group = groups.get(subject);
    if (group === undefined) groups.set(subject, [entry]);
    else group.push(entry);
  }
  const names = [...groups.keys()].sort((a, b) => Number(a === "") - Number(b === "") || (a < b ? -1 : 1));
  return names.flatMap((name): SubjectRow[] => {
    const group = groups.get(name) ?? [];
    const rows = (all: readonly EntryRow[]) => all.map((entry) => ({ kind: "entry", entry }) as const);
    const folded = group.filter(({ holds }) => !holds);
    const isOpen = open.has(name);
    return [
      ...(names.length === 1 && name === "" ? [] : [{ kind: "subject", name } as const]),
      ...rows(group.filter(({ holds }) => holds)),
      ...(folded.length === 0 ? [] : [{ kind: "fold", name, count: folded.length, isOpen } as const]),
      ...(isOpen ? rows(folded) : []),
    ];
  });
}

/** When an entry holds, as `since June 2025`; an empty text where nothing is known of it. */
export function spanOf(
  { validFrom, validTo, holds }: Pick<EntryRow, "validFrom" | "validTo" | "holds">,
  now = new Date(),
): string {
  if (validFrom !== null && new Date(validFrom) > now) return `from ${dayInUtc(validFrom)}`;
  if (!holds && validFrom !== null && validTo !== null) return `${dayInUtc(validFrom)} – ${dayInUtc(validTo)}`;
  const since = validFrom === null ? [] : [`since ${dayInUtc(validFrom)}`];
  const until = validTo === null ? [] : [`until ${dayInUtc(validTo)}`];
  return [...since, ...until].join(", ");
}
