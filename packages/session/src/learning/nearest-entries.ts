import { type SessionMessage, searchableText, yieldIfDue } from "@stemma/model";
import { type EntryScope, type ListedEntry, type Store, subjectOf } from "@stemma/store";
import type { LearnEntry } from "./edits.js";
import { subjectsIn, subjectTag, wordsOf } from "./subjects.js";

/** Entries that are shown of one block. Where there are no more, all are. */
const MOST_ENTRIES = 40;
/** Stretches of what was said that are searched with, the latest, and how long each is in characters. */
const MOST_STRETCHES = 24;
const STRETCH = 400;
/** All that has no end holds then: what only begins, and what was learned before a clock went back. */
const LATEST = "9999-12-31T23:59:59.999Z";
/** Entries that each finds. */
const EACH = 10;

/**
 * The entries of a block that may say the same as messages do, or what these make untrue: by meaning where the store searches so,
 * and by words and subjects. Each stretch of what the user said finds its own.
 */
export async function nearestEntries(
  { store, entries: scope }: { readonly store: Store; readonly entries: EntryScope },
  label: string,
  messages: readonly SessionMessage[],
): Promise<LearnEntry[]> {
  const { entries } = store;
  if ((await entries.count(scope)) <= MOST_ENTRIES) {
    const views = [{}, { asOf: LATEST }];
    const lists = await Promise.all(views.map((view) => entries.list(scope, { ...view, limit: MOST_ENTRIES })));
    const all = new Map(lists.flat().map((entry) => [entry.key, shownEntry(label, entry)]));
    return [...all.values()].slice(0, MOST_ENTRIES);
  }
  const all: ListedEntry[][] = [];
  // One after the other: a store that answers at once would answer all in one piece.
  for (const said of store.capabilities.search ? stretchesOf(messages) : []) {
    all.push(await found(store, scope, said));
    await yieldIfDue();
  }
  const shown = new Map<string, LearnEntry>();
  // The best of each stretch before the second best of any.
  for (let rank = 0; rank < 3 * EACH; rank += 1) {
    for (const ranking of all) {
      const entry = ranking[rank];
      if (entry !== undefined && shown.size < MOST_ENTRIES) shown.set(entry.key, shownEntry(label, entry));
    }
  }
  return [...shown.values()];
}

// Interleaved: what words find, what the words of the subject find, and what is of the subject.
async function found({ entries }: Store, scope: EntryScope, said: string): Promise<ListedEntry[]> {
  const subjects = subjectsIn(said);
  const limit = EACH;
  // Whose subject it is: a city that another person lives in is none of it.
  const names = (said.match(/(?<!\p{L})\p{Lu}[\p{L}'’-]+/gu) ?? []).join(" ");
  const rankings: ListedEntry[][] = [await entries.search(scope, said, { limit })];
  for (const subject of subjects) {
    await yieldIfDue();
    rankings.push(await entries.search(scope, `${names} ${wordsOf(subject)}`, { limit }));
    rankings.push(await entries.list(scope, { limit, filter: { tags: [subjectTag(subject)] } }));
  }
  return Array.from({ length: EACH }, (_, rank) => rankings.flatMap((ranking) => ranking[rank] ?? [])).flat();
}

function stretchesOf(messages: readonly SessionMessage[]): string[] {
  const said = messages.filter(({ role }) => role === "user").map(searchableText);
  const stretches: string[] = [];
  for (const text of said) {
    stretches.push("");
    for (const sentence of text.split(/(?<=[.!?。！？\n])\s*/u)) {
      const last = stretches.at(-1) ?? "";
      if (last === "" || last.length + sentence.length > STRETCH) stretches.push(sentence);
      else stretches[stretches.length - 1] = `${last} ${sentence}`;
    }
  }
  return stretches
    .map((stretch) => stretch.slice(0, STRETCH).toWellFormed().trim())
    .filter((stretch) => stretch !== "")
    .slice(-MOST_STRETCHES);
}

function shownEntry(label: string, { key, content, validFrom, tags }: ListedEntry): LearnEntry {
  const subject = subjectOf(tags);
  return { label, key, content, ...(validFrom !== null && { validFrom }), ...(subject !== null && { subject }) };
}
