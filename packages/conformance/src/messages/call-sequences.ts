import { StemmaError } from "@stemma/model";
import type { Session } from "@stemma/session";
import { collect, idsOf, message, textOf } from "../samples.js";

/** One call of a random sequence: what is called, on which of the session's objects, and with what, told by numbers. */
export interface Step {
  readonly call: number;
  readonly object: number;
  readonly a: number;
  readonly b: number;
}

type Call = (session: Session, a: number, b: number) => Promise<unknown>;

const IDS = ["m0", "m1", "m2", "m3", "m4", "m5", "m6", "m7"];
const idOf = (n: number) => IDS[n % IDS.length] as string;
const said = (a: number, b: number) => message(idOf(a), `word${b % 5} said of ${idOf(a)}`);
const parentOf = (n: number) => [undefined, undefined, undefined, null, idOf(n)][n % 5];

const MESSAGES: readonly Call[] = [
  (session, a, b) =>
    session.appendMessage(said(a, b)).then(({ inserted, message: stored }) => [inserted, textOf(stored)]),
  (session, a, b) => session.appendMessage(said(a, b), parentOf(b)).then(({ inserted }) => inserted),
  (session, a, b) => session.appendAll([said(a, b), said(a + 1, b), said(b, a)], parentOf(a)),
  (session, a, b) =>
    session
      .appendMessage(said(a, b), undefined, { expectedLeaf: parentOf(b) ?? null })
      .then(({ inserted }) => inserted),
  (session, a, b) => session.editMessage(idOf(a), said(b, a)).then(({ inserted }) => inserted),
  (session, a, b) => session.upsertMessage(said(a, b)),
  (session, a, b) => session.updateMessage(said(a, b)),
  (session, a, b) => session.deleteMessages([idOf(a), idOf(b)]),
  (session) => session.clearMessages(),
  (session, a, b) => session.addCompaction(`summary ${b}`, idOf(a), idOf(b)).then(({ fromMessageId }) => fromMessageId),
  (session) => readHistory(session),
  (session, a) => readHistory(session, idOf(a)),
  (session, a) => session.getMessage(idOf(a)).then((found) => found && textOf(found)),
  (session, a) => session.getBranches(idOf(a)).then(idsOf),
  (session, a) => session.getParent(idOf(a)).then((found) => found && textOf(found)),
  (session) => session.getPathLength(),
  (session, a) => session.getRecentHistory(a * 10).then(({ messages }) => messages.map(textOf)),
  (session, a) => collect(session.history({ newestFirst: a % 2 === 0 })).then((messages) => messages.map(textOf)),
];

const STORED: readonly Call[] = [
  (session, a) => session.setActiveLeaf(idOf(a)),
  (session, a) => session.selectBranch(idOf(a)).then(textOf),
  (session, a) => session.getSiblings(idOf(a)).then(idsOf),
  (session) => session.readContextBlock("memory").then((block) => block?.content),
  (session, a) => session.replaceContextBlock("memory", `replaced ${a}`).then(({ content }) => content),
  (session, a) => session.appendContextBlock("memory", ` more ${a}`).then(({ content }) => content),
  (session, a) => session.appendContextBlock("notes", ` note ${a}`).then(({ content }) => content),
  (session) => session.refreshSystemPrompt(),
  (session) => session.freezeSystemPrompt(),
];

const SEARCHES: readonly Call[] = [(session, a) => session.search(`word${a % 5}`).then((hits) => idsOf(hits).sort())];

/** Calls of the sequences: the documented methods of a provider, or those of a store too. */
export function callsOf(kind: "provider" | "store", search: boolean): readonly Call[] {
  const calls = kind === "store" ? [...MESSAGES, ...STORED] : MESSAGES;
  return search ? [...calls, ...SEARCHES] : calls;
}

/**
 * Makes the calls on one session's objects, all of them without waiting, or each one when the one before is done. Gives
 * what each came to, and what the session holds then; errors by their code.
 */
export async function play(
  objects: readonly Session[],
  calls: readonly Call[],
  steps: readonly Step[],
  waiting: boolean,
): Promise<unknown> {
  const results: Promise<unknown>[] = [];
  for (const { call, object, a, b } of steps) {
    const session = objects[object % objects.length] as Session;
    const result = outcome((calls[call % calls.length] as Call)(session, a, b));
    if (waiting) await result;
    results.push(result);
  }
  const done = await Promise.all(results);
  return { done, holds: await outcome(readAll(objects[0] as Session)) };
}

async function outcome(result: Promise<unknown>): Promise<unknown> {
  try {
    return (await result) ?? null;
  } catch (error) {
    return StemmaError.isInstance(error) ? error.code : String(error);
  }
}

// Ids of summaries are random.
async function readHistory(session: Session, leafId?: string): Promise<string[]> {
  return (await session.getHistory(leafId)).map(textOf);
}

async function readAll(session: Session): Promise<unknown> {
  const history = await readHistory(session);
  const compactions = (await session.getCompactions()).map(({ summary, toMessageId }) => [summary, toMessageId]);
  const tree = (await session.getTree()).map(({ id, parentId }) => [id, parentId]);
  return { history, compactions, tree };
}

/** Steps told by a seed: the same each time. */
export function stepsOf(seed: number, count: number): Step[] {
  let state = seed;
  const next = () => {
    // A linear congruential generator; its high bits are random enough.
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state >>> 8;
  };
  return Array.from({ length: count }, () => ({ call: next(), object: next(), a: next() % 97, b: next() % 89 }));
}
