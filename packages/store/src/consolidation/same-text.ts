import { type ListedEntry, type ProposedMerge, subjectOf } from "../contract/store.js";
import { subjectsOf } from "./mergeable.js";

/** A text as it is compared: case, spaces, and what ends a sentence make no difference. Signs do: "C#" is not "C". */
export function plainText(text: string): string {
  return text
    .normalize("NFC")
    .toLowerCase()
    .replace(/\s+/gu, " ")
    .replace(/(?<![\s.!;,])[\s.!;,]+$/u, "")
    .trim();
}

/** Entries of which each group has the same text. */
export function sameTexts(entries: readonly ListedEntry[]): ListedEntry[][] {
  const groups = new Map<string, ListedEntry[]>();
  for (const entry of entries) {
    const text = plainText(entry.content);
    const group = groups.get(text);
    if (group !== undefined) group.push(entry);
    else if (text !== "") groups.set(text, [entry]);
  }
  return [...groups.values()].flatMap(ofOneSubject).filter(({ length }) => length > 1);
}

// What is of none goes with those of the only one.
function ofOneSubject(entries: readonly ListedEntry[]): ListedEntry[][] {
  const subjects = [...subjectsOf(entries)];
  if (subjects.length < 2) return [[...entries]];
  return subjects.map((subject) => entries.filter(({ tags }) => subjectOf(tags) === subject));
}

/** Makes each group one, which says what the entry that was written last says; at most `limit` entries. */
export function mergeSame(groups: readonly (readonly ListedEntry[])[], limit: number): ProposedMerge[] {
  const merges: ProposedMerge[] = [];
  let left = limit;
  for (const group of groups) {
    const entries = group.slice(0, left);
    if (entries.length < 2) continue;
    const last = entries.reduce((one, other) => (other.updatedAt > one.updatedAt ? other : one));
    merges.push({ keys: entries.map(({ key }) => key), content: last.content });
    left -= entries.length;
  }
  return merges;
}
