import { type ListedEntry, type ProposedMerge, subjectOf } from "../contract/store.js";

/** A text as it is compared: spaces, a full stop at its end and the case of its first letter make no difference. All else does. */
export function plainText(text: string): string {
  const plain = text
    .normalize("NFC")
    .replace(/\s+/gu, " ")
    .trim()
    .replace(/(?<!\.)\.$/u, "");
  return plain.slice(0, 1).toLowerCase() + plain.slice(1);
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

// Nobody knows of which subject a text without one is.
function ofOneSubject(entries: readonly ListedEntry[]): ListedEntry[][] {
  const groups = new Map<string | null, ListedEntry[]>();
  for (const entry of entries) {
    const subject = subjectOf(entry.tags);
    groups.set(subject, [...(groups.get(subject) ?? []), entry]);
  }
  return [...groups.values()];
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
