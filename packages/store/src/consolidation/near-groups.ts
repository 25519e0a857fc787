import {
  documentTerms,
  estimateStringTokens,
  forEachYielding,
  inPieces,
  type Pieces,
  parseQuery,
  queryTerms,
} from "@stemma/model";
import { type EntryScope, type ListedEntry, type Store, subjectOf } from "../contract/store.js";
import { plainText, subjectsOf } from "./mergeable.js";

/** Entries of a group, at most. */
const MOST = 12;
/** Estimated tokens of a group, at most: it is asked about whole. */
export const GROUP_TOKENS = 20_000;
/** Two entries are near from this likeness on, where 1 is the same: measured, "Lives in Berlin" and "Resident of Berlin" have 0.3. */
const NEAR = 0.25;
/** With how many entries that share a term an entry is compared. */
const COMPARED = 50;
/** How many entries are searched for by meaning, the newest, and how many each finds. */
const SEARCHED = 500;
const FOUND = 4;

/** Two entries, by their places in a list, and how alike they are. */
interface Pair {
  readonly one: number;
  readonly other: number;
  readonly likeness: number;
}

/**
 * Groups of entries that may say the same, those that are most alike first: by words and subjects, and by meaning where the store
 * searches so. Each entry is compared only with some that share a term with it. No group has two subjects.
 */
export async function nearGroups(
  store: Store,
  scope: EntryScope,
  entries: readonly ListedEntry[],
): Promise<ListedEntry[][]> {
  const pairs = await inPieces(alikeInWords(entries));
  if (store.capabilities.embeddings) pairs.push(...(await alikeInMeaning(store, scope, entries)));
  const groups = new Groups(entries);
  await forEachYielding(pairs.sort(mostAlike), ({ one, other }) => groups.join(one, other));
  return groups.joined;
}

const mostAlike = (a: Pair, b: Pair) => b.likeness - a.likeness;

function* alikeInWords(entries: readonly ListedEntry[]): Pieces<Pair[]> {
  const terms: ReadonlySet<string>[] = [];
  const holding = new Map<string, number[]>();
  for (const [at, entry] of entries.entries()) {
    const own = termsOf(entry);
    terms.push(own);
    for (const term of own) {
      const places = holding.get(term);
      if (places === undefined) holding.set(term, [at]);
      else places.push(at);
    }
    yield;
  }
  const weightOf = (term: string) => Math.log(1 + entries.length / (holding.get(term)?.length ?? 1)) ** 2;
  const lengths = terms.map((own) => Math.sqrt([...own].reduce((sum, term) => sum + weightOf(term), 0)));
  const texts = entries.map(({ content }) => plainText(content));
  const passed = new Map<string, number>();
  const pairs: Pair[] = [];
  for (const [one, own] of terms.entries()) {
    const shared = new Map<number, number>();
    for (const term of own) {
      const place = passed.get(term) ?? 0;
      passed.set(term, place + 1);
      const weight = weightOf(term);
      for (const other of holding.get(term)?.slice(place + 1, place + 1 + COMPARED) ?? []) {
        shared.set(other, (shared.get(other) ?? 0) + weight);
      }
    }
    const near: Pair[] = [];
    for (const [other, weight] of shared) {
      const isSame = texts[one] === texts[other];
      const likeness = isSame ? 1 : weight / ((lengths[one] ?? 1) * (lengths[other] ?? 1));
      if (likeness >= NEAR) near.push({ one, other, likeness });
    }
    // More of them would find no room in its group.
    pairs.push(...near.sort(mostAlike).slice(0, MOST));
    yield;
  }
  return pairs;
}

// Stop-words tell nothing; a text of nothing else has its terms.
function termsOf({ content, tags }: ListedEntry): ReadonlySet<string> {
  const terms = queryTerms(parseQuery(content)).flat();
  const subject = subjectOf(tags);
  return new Set([
    ...(terms.length > 0 ? terms : documentTerms(content)),
    ...(subject === null ? [] : [` ${subject}`]),
  ]);
}

// Two that find each other. Each search has a scale of its own.
async function alikeInMeaning(store: Store, scope: EntryScope, entries: readonly ListedEntry[]): Promise<Pair[]> {
  const places = new Map(entries.map(({ key }, at) => [key, at]));
  const newest = [...entries].sort((a, b) => (a.updatedAt < b.updatedAt ? 1 : -1)).slice(0, SEARCHED);
  const found = new Set<string>();
  const pairs: Pair[] = [];
  for (const { key, content } of newest) {
    const near = await store.entries.search(scope, content, { limit: FOUND, rerank: false });
    for (const [rank, other] of near.filter((each) => each.key !== key).entries()) {
      const [from, to] = [places.get(key), places.get(other.key)];
      if (from === undefined || to === undefined) continue;
      found.add(`${from} ${to}`);
      if (found.has(`${to} ${from}`)) pairs.push({ one: from, other: to, likeness: NEAR + NEAR / (1 + rank) });
    }
  }
  return pairs;
}

/** Places in a list that are joined, pair by pair, as long as a group has room for both. */
class Groups {
  readonly #groups: number[][] = [];
  readonly #of = new Map<number, number[]>();

  constructor(private readonly entries: readonly ListedEntry[]) {}

  /** The entries of each group, in the order of the list; the group that came to be first is the first one. */
  get joined(): ListedEntry[][] {
    const groups = this.#groups.filter(({ length }) => length > 1);
    return groups.map((group) => this.#entries([...group].sort((a, b) => a - b)));
  }

  join(one: number, other: number): void {
    const into = this.#groupOf(one);
    const from = this.#groupOf(other);
    if (into === from || !this.#hasRoom([...into, ...from])) return;
    const [kept, gone] = into.length < from.length ? [from, into] : [into, from];
    if (kept.length === 1) this.#groups.push(kept);
    kept.push(...gone);
    for (const each of gone) this.#of.set(each, kept);
    // What it held stands elsewhere now.
    gone.length = 0;
  }

  #groupOf(at: number): number[] {
    const group = this.#of.get(at) ?? [at];
    this.#of.set(at, group);
    return group;
  }

  #hasRoom(places: readonly number[]): boolean {
    if (places.length > MOST) return false;
    const entries = this.#entries(places);
    return (
      subjectsOf(entries).size < 2 &&
      entries.reduce((sum, { content }) => sum + estimateStringTokens(content), 0) <= GROUP_TOKENS
    );
  }

  #entries(places: readonly number[]): ListedEntry[] {
    return places.flatMap((at) => this.entries[at] ?? []);
  }
}
