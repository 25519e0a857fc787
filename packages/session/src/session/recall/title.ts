import type { ListedEntry } from "@stemma/store";
import { subjectOf } from "@stemma/store";

// A word of a key that no person made, as of a UUID, a hash or a time in numbers.
const MADE = /(?<![\p{L}\p{N}])(?=\p{L}*\d)(?:(?=\d*[a-f])[\da-f]{4,}|\d{8,}|[\da-z]{12,})(?![\p{L}\p{N}])/giu;
const EDGES = /^[\s\p{P}]+|[\s\p{P}]+$/gu;

/** The name of an entry for readers: its key, or of a key that a program made the subject, or else the words that are left; "" for none. */
export function titleOfEntry({ key, tags }: Pick<ListedEntry, "key" | "tags">): string {
  const words = key.replace(MADE, "");
  return words === key ? key : (subjectOf(tags) ?? words.replace(EDGES, ""));
}
