import { estimateStringTokens, storableText } from "@stemma/model";
import {
  type EntryScope,
  holdsAt,
  type ListedEntry,
  type ProposedMerge,
  type Store,
  subjectOf,
} from "../contract/store.js";

/** By how many estimated tokens a merge may be longer than all that it merges. */
const LONGER = 20;

/** The reason why a merge is left out. */
export class Refusal extends Error {}

/** True for an entry that holds, and of which no end is known. What has a value is a program's, and what expires says so for itself. */
export function isOpen(entry: ListedEntry): boolean {
  const { ends, expiresAt, value } = entry;
  return holdsAt(entry) && ends.length === 0 && expiresAt === null && value === undefined;
}

/** The subjects of entries. */
export function subjectsOf(entries: readonly ListedEntry[]): ReadonlySet<string> {
  return new Set(entries.flatMap(({ tags }) => subjectOf(tags) ?? []));
}

/** The text that is to stand for entries, as it can be stored. Throws a `Refusal` where it cannot stand for them. */
export function mergedText(content: string, originals: readonly ListedEntry[]): string {
  const text = storableText(content).trim();
  if (text === "") throw new Refusal("it has no content");
  if (originals.length < 2) throw new Refusal("it names fewer than two entries");
  const subjects = subjectsOf(originals);
  if (subjects.size > 1) throw new Refusal(`they are of different subjects: ${[...subjects].sort().join(", ")}`);
  const said = originals.reduce((sum, each) => sum + estimateStringTokens(each.content), 0);
  if (estimateStringTokens(text) > said + LONGER) throw new Refusal("it says more than what it merges");
  return text;
}

/** A text as a store keeps it: one that redacts keeps another one. */
export function storedText({ redaction }: Store, { sessionId, label }: EntryScope, key: string, text: string): string {
  return redaction === undefined ? text : redaction.text(text, { kind: "entry", sessionId, label, key });
}

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
