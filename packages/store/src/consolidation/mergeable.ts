import { estimateStringTokens, storableText } from "@stemma/model";
import { type EntryScope, holdsAt, type ListedEntry, type Store, subjectOf } from "../contract/store.js";

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
