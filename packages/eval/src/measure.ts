import type { EvalQuestion } from "./set.js";

/** A message, as far as it is measured. */
export interface Place {
  readonly sessionId: string;
  readonly id: string;
}

/** The measures of a question, each from 0 to 1. `docs/evaluation.md` tells what they are. */
export const MEASURES = [
  "R@5",
  "R@10",
  "R@50",
  "nDCG@10",
  "any@5",
  "any@10",
  "recall_all@5",
  "MRR",
  "near@10",
  "quoted",
  "quoted in chat",
  "session any@5",
  "session any@10",
  "session recall_all@5",
] as const;
export type Measure = (typeof MEASURES)[number];

/** A number for each measure; null where it does not apply: by message, where only sessions are known; by session, where there is but one. */
export type Measured = Record<Measure, number | null>;

interface Found {
  /** Best first. */
  readonly hits: readonly Place[];
  /** Those of them that fit into the budget of a prompt. */
  readonly quoted: readonly Place[];
  /** Messages that a chat quotes by then, behind another question. Default: that was not tried. */
  readonly inChat?: readonly Place[] | null;
}

/** So many messages away from the evidence a hit still shows its place. */
const NEAR = 1;

/** Where the messages of a conversation stand: by session, and by id the number in it. */
export type Places = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** Measures what was found for one question. */
export function measure(question: EvalQuestion, found: Found, places: Places): Measured {
  const byMessage = question.evidence.length > 0;
  const bySession = question.sessions.length > 0 && places.size > 1;
  return {
    ...(byMessage ? measureMessages(question, found, places) : NO_MESSAGES),
    ...(bySession ? measureSessions(question, found) : NO_SESSIONS),
  };
}

function measureMessages({ evidence, sessions }: EvalQuestion, { hits, quoted, inChat = null }: Found, places: Places) {
  const isEvidence = ({ sessionId, id }: Place) => sessions.includes(sessionId) && evidence.includes(id);
  const found = hits.map(isEvidence);
  const among = (k: number) => found.slice(0, k).filter(Boolean).length;
  const discounted = (is: readonly boolean[]) =>
    is.slice(0, 10).reduce((sum, each, index) => sum + (each ? 1 / Math.log2(index + 2) : 0), 0);
  const first = found.indexOf(true);
  return {
    "R@5": among(5) / evidence.length,
    "R@10": among(10) / evidence.length,
    "R@50": among(50) / evidence.length,
    "nDCG@10": discounted(found) / discounted(evidence.map(() => true)),
    "any@5": Number(among(5) > 0),
    "any@10": Number(among(10) > 0),
    "recall_all@5": Number(among(5) === evidence.length),
    MRR: first < 0 ? 0 : 1 / (first + 1),
    "near@10": Number(hits.slice(0, 10).some((hit) => isNear(hit, evidence, places))),
    quoted: quoted.filter(isEvidence).length / evidence.length,
    "quoted in chat": inChat && inChat.filter(isEvidence).length / evidence.length,
  } satisfies Partial<Measured>;
}

function isNear({ sessionId, id }: Place, evidence: readonly string[], places: Places): boolean {
  const session = places.get(sessionId);
  const place = session?.get(id);
  if (session === undefined || place === undefined) return false;
  return evidence.some((each) => Math.abs((session.get(each) ?? Number.NaN) - place) <= NEAR);
}

function measureSessions({ sessions }: EvalQuestion, { hits }: Found) {
  const order = [...new Set(hits.map(({ sessionId }) => sessionId))];
  const among = (k: number) => order.slice(0, k).filter((id) => sessions.includes(id)).length;
  return {
    "session any@5": Number(among(5) > 0),
    "session any@10": Number(among(10) > 0),
    "session recall_all@5": Number(among(5) === sessions.length),
  } satisfies Partial<Measured>;
}

const NO_MESSAGES: Record<keyof ReturnType<typeof measureMessages>, null> = {
  "R@5": null,
  "R@10": null,
  "R@50": null,
  "nDCG@10": null,
  "any@5": null,
  "any@10": null,
  "recall_all@5": null,
  MRR: null,
  "near@10": null,
  quoted: null,
  "quoted in chat": null,
};

const NO_SESSIONS: Record<keyof ReturnType<typeof measureSessions>, null> = {
  "session any@5": null,
  "session any@10": null,
  "session recall_all@5": null,
};

/** How much one ranking finds more than another: the mean, and between what it lies in 95 % of the draws. */
export interface Interval {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

export type Intervals = Record<Measure, Interval | null>;

/** A question of a conversation, measured with two rankings. */
interface Pair {
  readonly conversation: string;
  readonly before: Measured;
  readonly after: Measured;
}

const DRAWS = 2000;
const SEED = 1;

/**
 * The paired bootstrap of `after - before`, for each measure: conversations are drawn with replacement, each with all of its questions,
 * since questions of one conversation are alike. Of a single conversation, questions are drawn. The draws are the same each time. Null
 * for a measure that no question has.
 */
export function bootstrap(pairs: readonly Pair[]): Intervals {
  const isOne = new Set(pairs.map(({ conversation }) => conversation)).size < 2;
  const drawn = groupBy(pairs, ({ conversation }) => conversation);
  const units = isOne ? pairs.map((pair) => [pair]) : [...drawn.values()];
  const draws = drawsOf(units.length);
  const intervalOf = (measure: Measure) =>
    intervalOver(
      units.map((unit) => sumOf(unit, measure)),
      draws,
    );
  return Object.fromEntries(MEASURES.map((measure) => [measure, intervalOf(measure)])) as Intervals;
}

interface Sum {
  sum: number;
  count: number;
}

function sumOf(pairs: readonly Pair[], measure: Measure): Sum {
  const total = { sum: 0, count: 0 };
  for (const { before, after } of pairs) {
    const [from, to] = [before[measure], after[measure]];
    if (from === null || to === null) continue;
    total.sum += to - from;
    total.count += 1;
  }
  return total;
}

function intervalOver(units: readonly Sum[], draws: readonly Uint32Array[]): Interval | null {
  const mean = meanOf(units, units.keys());
  if (mean === null) return null;
  const means = draws.flatMap((draw) => meanOf(units, draw) ?? []).sort((a, b) => a - b);
  const at = (share: number) => means[Math.round(share * (means.length - 1))] as number;
  return { mean, low: at(0.025), high: at(0.975) };
}

function meanOf(units: readonly Sum[], drawn: Iterable<number>): number | null {
  let [sum, count] = [0, 0];
  for (const index of drawn) {
    const unit = units[index] as Sum;
    sum += unit.sum;
    count += unit.count;
  }
  return count === 0 ? null : sum / count;
}

function drawsOf(size: number): Uint32Array[] {
  const random = mulberry32(SEED);
  return Array.from({ length: DRAWS }, () => Uint32Array.from({ length: size }, () => Math.floor(random() * size)));
}

/** Numbers from 0 to 1 that are the same each time. */
function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The items by what `keyOf` gives for them, in the order in which they came. */
export function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}
