import { check, defineOptions, isJsonObject, LONGEST_TIMER, quote, StemmaError } from "@stemma/model";
import type {
  ConsolidateOptions,
  Consolidation,
  EntryCheck,
  EntryMerge,
  EntryScope,
  EntryWrite,
  KeptWrite,
  ListedEntry,
  MemoryScope,
  Store,
  WriteOrigin,
} from "../contract/store.js";
import { assertScope } from "../sql/session-id.js";
import { isOpen, mergedText, Refusal, storedText } from "./mergeable.js";
import { Proposals } from "./proposals.js";

const DEFAULT_LIMIT = 100;
const DEFAULT_TIMEOUT = 120_000;

const CONSOLIDATE = defineOptions<ConsolidateOptions>({
  scope: assertScope,
  sessionId: check.storable,
  label: check.storable,
  after: check.rule(
    "milliseconds since 1970, or a Date",
    (value) => (typeof value === "number" || value instanceof Date) && !Number.isNaN(new Date(Number(value)).getTime()),
  ),
  extract: check.callable,
  timeout: check.whole(1, LONGEST_TIMER),
  maxCost: check.rule("a number above 0", (value) => typeof value === "number" && value > 0),
  limit: check.whole(2),
  dryRun: check.flag,
  apply: check.list("merges"),
  undo: check.list("merges"),
  keepVersions: check.whole(0),
});

/**
 * The `consolidate` of every store: a store of your own takes it among its methods. It is made of the store's `entries` and
 * `writeTogether`. Errors: as for `Store.consolidate`.
 */
export async function consolidate(this: Store, options: ConsolidateOptions = {}): Promise<Consolidation> {
  CONSOLIDATE.assert(options, "consolidate()");
  const { scope = "user", sessionId = "", limit = DEFAULT_LIMIT, timeout = DEFAULT_TIMEOUT } = options;
  const { dryRun = false, apply, undo, keepVersions } = options;
  const place = { sessionId, scope };
  const parts = { store: this, place, keepVersions };
  if (undo !== undefined) return { dryRun, usage: NOTHING, ...(await undoMerges({ ...parts, merges: undo }, dryRun)) };
  const found =
    apply === undefined
      ? await new Proposals(this, place, { ...options, limit, timeout }).find()
      : { merges: apply, skipped: [], usage: NOTHING };
  const { merges, skipped } = await makeMerges({ ...parts, merges: found.merges }, limit, dryRun);
  return { dryRun, merges, skipped: [...found.skipped, ...skipped], usage: found.usage };
}

const NOTHING: Consolidation["usage"] = { inputTokens: 0, outputTokens: 0, cost: 0 };

/** How often writes are made anew because someone else wrote to an entry. */
const MAX_ATTEMPTS = 10;
/** Merges, and whose they are. */
interface MergeParts extends Pick<ConsolidateOptions, "keepVersions"> {
  readonly store: Store;
  readonly place: MemoryScope;
  readonly merges: readonly EntryMerge[];
}

/** The outcome of writing merges. */
type Outcome = Pick<Consolidation, "merges" | "skipped">;

/** A merge that can be made or taken back, and the writes that do it. */
interface Planned {
  readonly merge: EntryMerge;
  readonly writes: readonly (EntryCheck | EntryWrite)[];
}

/** Makes merges, all in one transaction, or with `dryRun` only finds those that can be made. Whoever writes meanwhile, wins. */
function makeMerges(parts: MergeParts, limit: number, dryRun: boolean): Promise<Outcome> {
  return written(parts, dryRun, () => {
    const making = new Making(parts, limit);
    return (merge) => making.plan(merge);
  });
}

/** Takes merges back, all in one transaction: what they closed holds again. What was changed since stays. */
function undoMerges(parts: MergeParts, dryRun: boolean): Promise<Outcome> {
  return written(parts, dryRun, () => (merge) => planUndo(parts, merge));
}

type Plan = (merge: EntryMerge) => Promise<Planned>;

async function written({ store, merges }: MergeParts, dryRun: boolean, begin: () => Plan): Promise<Outcome> {
  for (let attempt = 1; ; attempt += 1) {
    const plan = begin();
    const planned: Planned[] = [];
    const skipped: Consolidation["skipped"][number][] = [];
    for (const merge of merges) {
      try {
        assertMerge(merge);
        planned.push(await plan(merge));
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        skipped.push({ merge, reason: error.message });
      }
    }
    const outcome = { merges: planned.map(({ merge }) => merge), skipped };
    if (dryRun || planned.length === 0) return outcome;
    try {
      await store.writeTogether(inOrder(planned));
      return outcome;
    } catch (error) {
      // A predecessor that is gone is an invalid one.
      const isConflict =
        StemmaError.isInstance(error, "ENTRY_CONFLICT") || StemmaError.isInstance(error, "INVALID_ARGUMENT");
      if (!isConflict || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

// In one order for all: of two that lock the same entries, neither waits for the other and is waited for.
function inOrder(planned: readonly Planned[]): KeptWrite[] {
  const name = ({ merge }: Planned) => JSON.stringify([merge.label, merge.originals.map(({ key }) => key).sort()]);
  return [...planned].sort((one, other) => (name(one) < name(other) ? -1 : 1)).flatMap(({ writes }) => writes);
}

// It may come from a file.
function assertMerge(merge: EntryMerge): void {
  const { label, key, content, originals } = (isJsonObject(merge) ? merge : {}) as Partial<EntryMerge>;
  const areTexts = [label, key, content].every((text) => typeof text === "string" && text !== "");
  const isOriginal = (each: unknown) =>
    isJsonObject(each) && typeof each.key === "string" && each.key !== "" && typeof each.content === "string";
  if (!areTexts || !Array.isArray(originals) || originals.length < 2 || !originals.every(isOriginal))
    throw new Refusal("it is no merge");
}

/** One call's merges, of which each may close other entries only. */
class Making {
  readonly #taken = new Set<string>();
  #closed = 0;

  constructor(
    private readonly parts: MergeParts,
    private readonly limit: number,
  ) {}

  async plan({ label, key, content: given, originals: named }: EntryMerge): Promise<Planned> {
    const { store, place, keepVersions } = this.parts;
    const scope = { ...place, label };
    const originals = [...new Map(named.map((each) => [each.key, each])).values()];
    const nameOf = (one: string) => JSON.stringify([label, one]);
    for (const each of originals) {
      if (this.#taken.has(nameOf(each.key))) throw new Refusal(`${quote(each.key)} is merged already`);
    }
    if (this.#closed + originals.length > this.limit) throw new Refusal(`at most ${this.limit} entries are closed`);
    const present = await Promise.all(originals.map((each) => presentEntry(store, scope, each)));
    const content = storedText(store, scope, key, mergedText(given, present));
    const own = await this.#freeKey(scope, key, nameOf);
    for (const one of [own, ...originals.map((each) => each.key)]) this.#taken.add(nameOf(one));
    this.#closed += originals.length;
    const [validFrom] = present.flatMap((each) => each.validFrom ?? []).sort();
    const write = {
      entries: scope,
      key: own,
      content,
      ...(validFrom !== undefined && { validFrom }),
      tags: [...new Set(present.flatMap(({ tags }) => tags))],
      supersedes: originals.map((each) => each.key),
      options: {
        expectedContent: null,
        merges: true,
        origin: await originOf(store, scope, present),
        keepVersions,
      },
    };
    // Whoever writes to one of them meanwhile, wins.
    const checks = [...present].sort((one, other) => (one.key < other.key ? -1 : 1));
    const writes = [...checks.map((asRead) => ({ entries: scope, asRead })), write];
    return { merge: { label, key: own, content, originals }, writes };
  }

  async #freeKey(scope: EntryScope, key: string, nameOf: (key: string) => string): Promise<string> {
    const isTaken = this.#taken.has(nameOf(key)) || (await this.parts.store.entries.get(scope, key)) !== null;
    return isTaken ? `${key}-${crypto.randomUUID().slice(0, 8)}` : key;
  }
}

async function presentEntry(
  { entries }: Store,
  scope: EntryScope,
  { key, content }: EntryMerge["originals"][number],
): Promise<ListedEntry> {
  const entry = await entries.get(scope, key);
  if (entry?.content === content && isOpen(entry)) return entry;
  throw new Refusal(`${quote(key)} was changed meanwhile`);
}

// Where the newest of them comes from: a version names messages of one session.
async function originOf(
  { entries }: Store,
  scope: EntryScope,
  originals: readonly ListedEntry[],
): Promise<WriteOrigin> {
  // What several share may come of sessions that are not this user's.
  if (typeof scope.scope === "object") return { author: "learning" };
  const all = await Promise.all(originals.map(({ key }) => entries.versions(scope, key)));
  const said = all.flat().filter(({ sessionId, messageIds }) => sessionId !== null && messageIds.length > 0);
  const [newest] = said.sort((one, other) => (one.writtenAt < other.writtenAt ? 1 : -1));
  if (newest === undefined || newest.sessionId === null) return { author: "learning" };
  const { sessionId } = newest;
  const ids = said.filter((each) => each.sessionId === sessionId).flatMap(({ messageIds }) => messageIds);
  return { author: "learning", sessionId, messageIds: [...new Set(ids)].reverse() };
}

async function planUndo({ store, place, keepVersions }: MergeParts, merge: EntryMerge): Promise<Planned> {
  const { label, key, content, originals } = merge;
  const scope = { ...place, label };
  const entry = await store.entries.get(scope, key);
  const [successor] = entry?.supersededBy ?? [];
  if (successor !== undefined) {
    const advice = `undo or remove ${quote(successor)} first, or let it supersede the originals itself`;
    throw new Refusal(`${quote(key)} is superseded by ${quote(successor)} by now: ${advice}`);
  }
  const isSame = entry?.content === content && entry.ends.length === 0;
  if (!isSame || !originals.every((each) => entry.supersedes.includes(each.key))) {
    throw new Refusal(`${quote(key)} was changed since, or is undone already`);
  }
  // What cannot be opened again would be lost.
  const present = await Promise.all(originals.map((each) => store.entries.get(scope, each.key)));
  if (present.some((each) => each === null || !each.supersededBy.includes(key))) {
    throw new Refusal(`what ${quote(key)} merged is not there any more`);
  }
  const options = { expectedContent: content, keepVersions };
  return { merge, writes: [{ entries: scope, key, content: null, options }] };
}
