import { describe, it } from "vitest";
import { Queue } from "../packages/model/src/lib/queue.js";
import { describeStore as register, type StoreTarget } from "../packages/stemma/src/testing.js";

/** The engines that `STORES` names, as in `STORES=sqlite,pglite npx vitest run`; all of them where it is not set. */
const chosen = process.env.STORES?.split(",");

/**
 * Meets each variant of a store with the whole suite: `STEMMA_CONFORMANCE=all npx vitest run --project engines --project platforms`.
 * Otherwise a variant meets the topics in which it can differ from a store that meets all of them.
 */
export const ALL: boolean = process.env.STEMMA_CONFORMANCE === "all";

/** Where clients of a database differ: in values, transactions, errors, and in what happens at once. */
export const OF_CLIENTS = [
  "messages",
  "fidelity",
  "boundary values",
  "concurrency",
  "order",
  "isolation",
  "faults",
  "embeddings",
  "records",
] as const;

/** Where storages of the runner's sessions differ: each holds a session as a whole. */
export const OF_STORAGES = [
  "messages",
  "history",
  "fidelity",
  "boundary values",
  "lengths of names",
  "sessions",
  "concurrency",
  "order",
  "isolation",
  "faults",
  "records",
] as const;

/** What Postgres does in a way of its own. */
export const OF_POSTGRES = [
  "messages",
  "branches",
  "history",
  "search",
  "search groups",
  "embeddings",
  "records",
  "sessions",
  "session lists",
  "forks",
  "compaction",
  "deleting messages",
  "blocks of users and keys",
  "turns",
  "asked again",
] as const;

export interface Choice {
  /** Default: all of them. */
  readonly topics?: readonly string[] | undefined;
  /** Those that another file of the same run meets, which are left out unless `ALL`. */
  readonly metElsewhere?: readonly string[] | undefined;
  /** Of a variant: the topics in which it can differ, which are left at that unless `ALL`. */
  readonly differsIn?: readonly string[] | undefined;
  /** Whether cases wait for the store's server, so that others may run meanwhile. Default: false. */
  readonly concurrent?: boolean;
}

/** Cases that change the clock of the process run while no other one does. */
const clock = new Queue();

const addCase = (title: string, run: () => Promise<void>): void => {
  it(title, () => (title.includes("a clock") ? clock.write("", run) : clock.read("", run)));
};
addCase.skip = it.skip;

/** Our own stores can do all that a test does not deny. None loses cases by saying that it cannot. */
function withAll(target: StoreTarget): StoreTarget {
  const all = { search: true, embeddings: true, transactions: true, check: true };
  return { ...target, capabilities: { ...all, durable: target.reopen !== undefined, ...target.capabilities } };
}

/** Registers the conformance suite for a store of an engine, or some topics of it, unless `STORES` leaves that out. */
export function describeStore(engine: string, target: StoreTarget, choice: Choice = {}): void {
  const { differsIn, metElsewhere = [], concurrent = false } = choice;
  const topics = choice.topics ?? (ALL ? undefined : differsIn);
  const isChosen = (topic: string): boolean =>
    topics === undefined ? ALL || !metElsewhere.includes(topic) : topics.includes(topic);
  const describeSome = (name: string, body: () => void): void => {
    if (!isTopic(name, target) || isChosen(name)) describe(name, { concurrent }, body);
  };
  if (chosen === undefined || chosen.includes(engine))
    register(withAll(target), { describe: describeSome, it: addCase });
  else it.skip(`the ${target.name} store (STORES does not name ${engine})`, () => {});
}

// The suite of a store is one block, with a block for each topic in it.
function isTopic(name: string, target: StoreTarget): boolean {
  return name !== `the ${target.name} store`;
}
