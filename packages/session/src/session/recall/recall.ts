import { holdsMatch, isTelling, StemmaError, tellingQuery } from "@stemma/model";
import {
  type BlockScope,
  type EntryScope,
  type EntryStore,
  type FoundEntry,
  type FoundMessage,
  type ListedEntry,
  observed,
  type SearchHit,
  type SearchRequest,
  type Store,
  subjectOf,
} from "@stemma/store";
import type { LiveBlock } from "../../context/live-block.js";
import { AgentSearchProvider, type EntryPlace } from "../../context/providers/agent-search.js";
import { packRecall } from "./pack.js";
import {
  DEFAULT_RECALL_MS,
  DEFAULT_RECALL_TOKENS,
  type RecalledEntry,
  type RecalledMessagePlace,
  type RecallOptions,
  type Recollection,
} from "./recall-options.js";

/** How many of the best hits are looked at. */
export const RECALL_HITS = 50;
/** Where most of the first page are shown already, as messages of the chat itself, the second is looked at too. */
const PAGES = [RECALL_HITS, 200] as const;
const ENOUGH_HITS = 25;
/** How many entries are recalled, and how many collections of an owner are looked at. */
const MOST_ENTRIES = 10;
const MOST_LABELS = 20;
/** Entries that score less than this share of the best one are left out. */
const LEAST_SHARE = 0.4;

/** A question to the memory, and what its answer leaves out. */
export interface RecallRequest extends RecallOptions {
  /** The text that was just said: where it is about nothing, nothing is recalled. */
  readonly said: string;
  /** The text that was said before, which tells what the first is about. Default: nothing. */
  readonly before?: string | undefined;
  /** Only messages of sessions with this metadata. Default: of all. */
  readonly sessionMetadata?: SearchRequest["sessionMetadata"];
  /** Where blocks keep entries. Those of the places whose scope has a name are recalled, too. Default: none. */
  readonly places?: readonly BlockPlace[] | undefined;
  /** False for a label of the user or of a key whose entries are not looked at. Default: all are. */
  readonly hasLabel?: ((label: string, scope: BlockScope) => boolean) | undefined;
  /** The answer of `collectionsOf` to this request, where it was asked before. Default: it is asked. */
  readonly collections?: Promise<readonly Collection[]> | undefined;
  /** Aborted, the recall waits for a reranker no longer. */
  readonly signal?: AbortSignal | undefined;
  /** The session that it is for. */
  readonly sessionId?: string | undefined;
  /** True for a hit that is left out, as it is shown already. */
  readonly isShown?: ((hit: SearchHit) => boolean) | undefined;
  /** True for a message, or an entry, that was quoted before, or that stands in the prompt. */
  readonly isKnown?: ((found: RecalledMessagePlace | RecalledEntry) => boolean) | undefined;
}

type SearchOptions = Pick<SearchRequest, "rerank" | "threshold" | "signal">;
type Packed = ReturnType<typeof packRecall>;

const NOTHING: Packed = { results: [], text: "", tokens: 0 };

/** A message with fewer telling words leans on what was said before it. */
const ENOUGH_WORDS = 4;

/**
 * Recalls what a store holds about what was said, of everyone where no user is named: whoever calls it has checked that. Errors:
 * `SEARCH_UNAVAILABLE`; `INVALID_ARGUMENT` for a threshold without a reranker.
 */
export async function recallFrom(store: Store, request: RecallRequest): Promise<Recollection> {
  const { maxMs = DEFAULT_RECALL_MS, sessionId } = request;
  const started = performance.now();
  const ended = (found: Packed, isLate: boolean): Recollection => {
    return { ...found, ms: Math.round(performance.now() - started), isLate };
  };
  if (!isTelling(request.said)) return ended(NOTHING, false);
  const patience = new AbortController();
  const signal = request.signal === undefined ? patience.signal : AbortSignal.any([patience.signal, request.signal]);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    const message = `Nothing was recalled within ${maxMs} ms.`;
    timer = setTimeout(() => reject(new StemmaError("RECALL_LATE", { maxMs }, message)), maxMs);
  });
  try {
    const found = await observed(store, { type: "turn", name: "recall", sessionId }, () =>
      Promise.race([find(store, request, signal), late]),
    );
    return ended(found, false);
  } catch (error) {
    if (!StemmaError.isInstance(error, "RECALL_LATE")) throw error;
    return ended(NOTHING, true);
  } finally {
    clearTimeout(timer);
    patience.abort();
  }
}

async function find(store: Store, request: RecallRequest, signal: AbortSignal): Promise<Packed> {
  const { maxTokens = DEFAULT_RECALL_TOKENS, rerank, threshold } = request;
  const queries = queriesOf(request);
  const options = { rerank, threshold, signal };
  const [hits, entries] = await Promise.all([
    Promise.all(queries.map((query) => findMessages(store, request, query, options))),
    findEntries(store, request, queries, options),
  ]);
  const news = { hits: weigh(hits, ({ sessionId, id }) => JSON.stringify([sessionId, id])), entries };
  return packRecall(queries, news, maxTokens);
}

// What was said; where it leans on what was said before, also with that.
function queriesOf({ said, before = "" }: RecallRequest): string[] {
  const { words, runs } = tellingQuery(said);
  const leans = words.length + runs.length < ENOUGH_WORDS;
  return leans && before !== "" ? [said, `${said}\n${before}`] : [said];
}

/** The best messages that are not shown yet, with what stands beside them. */
async function findMessages(
  store: Store,
  { userId, sessionMetadata, isShown = () => false, isKnown = () => false }: RecallRequest,
  query: string,
  options: SearchOptions,
): Promise<SearchHit[]> {
  const isNew =
    (sessionId: string) =>
    ({ id: messageId }: FoundMessage) =>
      !isKnown({ kind: "message", sessionId, messageId });
  const found: SearchHit[] = [];
  let offset = 0;
  for (const limit of PAGES) {
    const page = { limit, offset, context: 1, userId, sessionMetadata, ...options };
    const hits = await store.search(query, page);
    for (const hit of hits) {
      if (isShown(hit) || !isNew(hit.sessionId)(hit)) continue;
      found.push({ ...hit, context: contextOf(hit, isNew(hit.sessionId)) });
    }
    if (hits.length < limit || found.length >= ENOUGH_HITS || options.signal?.aborted) break;
    offset += limit;
  }
  return found;
}

/** Recalls, as `recallFrom` does, from messages that were searched for a question, with a context of 1. */
export function recallOfHits(query: string, hits: readonly SearchHit[], maxTokens: number): Packed {
  return isTelling(query) ? packRecall([query], { entries: [], hits }, maxTokens) : NOTHING;
}

function contextOf({ context }: SearchHit, isNew: (message: FoundMessage) => boolean) {
  const { before = [], after = [] } = context ?? {};
  return { before: before.filter(isNew), after: after.filter(isNew) };
}

/**
 * The best entries that are not shown yet and hold a telling word, of the user, of the keys and of the declared scopes. Scores of two
 * collections do not compare, so each counts as its share of the best one of its collection.
 */
async function findEntries(
  store: Store,
  request: RecallRequest,
  queries: readonly string[],
  options: SearchOptions,
): Promise<RecalledEntry[]> {
  const { isKnown = () => false, collections = collectionsOf(store, request) } = request;
  const ranked = (await collections).map(async ({ entries, place, name: scopeName, block }) => {
    const { scope = "session", label } = place;
    const named = { ...(scopeName && { scopeName }), label, ...(block !== undefined && { block }) };
    const rankings = queries.map(async (query) => {
      const telling = tellingQuery(query);
      const found = await entries.search(place, query, { ...options, limit: RECALL_HITS }).catch(none);
      return found.flatMap((entry) => {
        const { key, content, score } = entry;
        const is = { kind: "entry", scope, ...named, key, at: timeOf(entry), updatedAt: entry.updatedAt } as const;
        const recalled: RecalledEntry = { ...is, title: titleOfEntry(entry), content };
        const isNew = holdsMatch(`${key}\n${content}`, telling) && !isKnown(recalled);
        return isNew ? [{ recalled, score }] : [];
      });
    });
    return weigh(await Promise.all(rankings), ({ recalled }) => recalled.key);
  });
  const found = (await Promise.all(ranked)).flat().sort((a, b) => b.score - a.score);
  // What the exchange before adds to the best one leaves out no other.
  const least = LEAST_SHARE * Math.min(1, found[0]?.score ?? 0);
  return found
    .filter(({ score }) => score > 0 && score >= least)
    .slice(0, MOST_ENTRIES)
    .map(({ recalled }) => recalled);
}

/** Entries of one owner under one label. */
export interface Collection {
  readonly entries: EntryStore;
  readonly place: EntryScope;
  /** The name of the scope, where a block declares it. */
  readonly name?: string | undefined;
  /** The label of the block that keeps it. */
  readonly block?: string | undefined;
}

/** Where a block keeps entries, with its label; the scope has a name where the block declares several. */
export interface BlockPlace extends Omit<EntryPlace, "name"> {
  readonly block: string;
  readonly name: string | undefined;
}

/** Where entries are looked for: what blocks declare, then all other labels of the user and of the keys. */
export async function collectionsOf(
  store: Store,
  { userId = store.userId, keys = [], places = [], hasLabel = () => true }: Omit<RecallRequest, "said">,
): Promise<Collection[]> {
  const { entries } = userId === undefined ? store : store.forUser(userId);
  const declared = places.flatMap(({ name, block, scope, store: { entries: own }, entries: place }): Collection[] => {
    if (name === undefined) return [];
    if (scope !== "user") return [{ entries: own, place, name, block }];
    return userId === undefined ? [] : [{ entries, place: { ...place, sessionId: "" }, name, block }];
  });
  const nameOf = ({ scope, label }: EntryScope) => JSON.stringify([scope, label]);
  const known = new Set(declared.map(({ place }) => nameOf(place)));
  const blocks = new Map(places.map(({ entries: place, block }) => [nameOf(place), block]));
  const owners = [...(userId === undefined ? [] : ["user" as const]), ...keys.map((key) => ({ key }))];
  const others = owners.map(async (scope) => {
    const labels = (await entries.labels({ sessionId: "", scope })).filter(({ label }) => hasLabel(label, scope));
    return labels
      .slice(0, MOST_LABELS)
      .map(({ label }) => ({ sessionId: "", scope, label }))
      .filter((place) => !known.has(nameOf(place)))
      .map((place) => ({ entries, place, block: blocks.get(nameOf(place)) }));
  });
  return [...declared, ...(await Promise.all(others)).flat()];
}

/** Where blocks keep entries. */
export function blockPlaces(blocks: readonly LiveBlock[]): BlockPlace[] {
  return blocks.flatMap(({ label: block, provider, entryPlaces }) => {
    const namesScopes = provider instanceof AgentSearchProvider && provider.namesScopes;
    return entryPlaces.map(({ name, ...place }) => ({ ...place, block, name: namesScopes ? name : undefined }));
  });
}

// One entry that cannot be read hides its collection, not all the others.
function none(error: unknown): FoundEntry[] {
  if (StemmaError.isInstance(error, "CORRUPT_ENTRY")) return [];
  throw error;
}

// Since when it holds, where that is known.
function timeOf(entry: ListedEntry): string {
  return entry.validFrom ?? entry.updatedAt;
}

// A word of a key that no person made, as of a UUID, a hash or a time in numbers.
const MADE = /(?<![\p{L}\p{N}])(?=\p{L}*\d)(?:(?=\d*[a-f])[\da-f]{4,}|\d{8,}|[\da-z]{12,})(?![\p{L}\p{N}])/giu;
const EDGES = /^[\s\p{P}]+|[\s\p{P}]+$/gu;

/** The name of an entry for readers: its key, or of a key that a program made the subject, or else the words that are left; "" for none. */
function titleOfEntry({ key, tags }: Pick<ListedEntry, "key" | "tags">): string {
  const words = key.replace(MADE, "");
  return words === key ? key : (subjectOf(tags) ?? words.replace(EDGES, ""));
}

/** How much the exchange before counts, where the text itself counts 1. Measured on LoCoMo: 1 finds less. */
const WEIGHT_BEFORE = 0.5;

/** Something that was found, by a score that compares within its ranking only. */
interface Scored {
  readonly score: number;
}

/**
 * One ranking of two, best first: of what was found for a text alone, and of what was found for it with the exchange before it, which counts
 * less. Scores become shares of the best of their ranking. `nameOf` tells what is the same in both.
 */
function weigh<Found extends Scored>(
  rankings: readonly (readonly Found[])[],
  nameOf: (found: Found) => string,
): Found[] {
  const weighed = new Map<string, Found>();
  for (const [place, ranking] of rankings.entries()) {
    const weight = place === 0 ? 1 : WEIGHT_BEFORE;
    const best = ranking.reduce((most, { score }) => Math.max(most, score), 0) || 1;
    for (const each of ranking) {
      const name = nameOf(each);
      const score = (weighed.get(name)?.score ?? 0) + weight * (Math.max(0, each.score) / best);
      weighed.set(name, { ...each, score });
    }
  }
  return [...weighed.values()].sort((a, b) => b.score - a.score);
}
