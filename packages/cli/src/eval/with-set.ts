import { EVAL_SETS, type EvalSet, type EvalSetName, readEvalSet, readOwnQuestions } from "@stemma/eval";
import type { EmbeddableStore, Store } from "@stemma/store";
import { memory } from "@stemma/store/memory";
import type { Command } from "commander";
import { assertThere, type DatabaseOptions, openDatabase } from "../open-database.js";

/** Your own questions, which are asked of your own database. */
export const OWN = "own";

/** The names of the sets, and what the path of each leads to. */
export const SETS: readonly { readonly name: string; readonly about: string }[] = [
  ...EVAL_SETS,
  { name: OWN, about: 'your own questions to --db: lines of { "question", "ids" or "session" }' },
];

/** How long a search may wait for a reranker, in milliseconds. */
const PATIENCE = 60_000;

/** Options that both commands have. */
export interface SetOptions {
  limitConversations?: number;
  half?: "dev" | "test";
  together?: boolean;
  user?: string;
  /** The folder of a model, or its name on the hub; true for the one that is used where none is named. */
  reranker?: string | true;
  embedder?: string | true;
}

/** How often a reranker was asked, how often it scored only the first candidates, and how often it failed. */
export interface Reranking {
  asked: number;
  shortened: number;
  failed: number;
}

/** A set to ask, and what opens its stores. */
export interface OpenSet extends SetOptions {
  readonly set: EvalSet;
  openStore(): Store;
}

/**
 * Reads a set, does the work and closes the database where there is one. Errors: `INVALID_ARGUMENT` for a path that is not there and
 * a file that is not in the form of the set, and those of the work.
 */
export async function withSet(
  command: Command,
  name: string,
  path: string,
  work: (open: OpenSet, reranking: Reranking | null) => Promise<void>,
): Promise<void> {
  const options = command.optsWithGlobals<DatabaseOptions & SetOptions>();
  const { limitConversations, half, together, user } = options;
  const parts = Object.fromEntries(
    Object.entries({ limitConversations, half, together }).filter(([, value]) => value !== undefined),
  );
  const own = options.db !== undefined ? "--db" : user !== undefined ? "--user" : null;
  if (name !== OWN && own !== null) {
    command.error(`${own} is for your own questions; a set is put into a store in memory`);
  }
  if (name === OWN && options.embedder !== undefined) {
    command.error(
      "--embedder stores vectors, and your own database is only read: use --reranker, which stores nothing",
    );
  }
  const { configured, reranking } = await configuring(options);
  const openStore = () => configured(memory());
  if (name !== OWN) {
    return work({ ...parts, set: readEvalSet(name as EvalSetName, path), openStore }, reranking);
  }
  assertThere(options);
  const store = configured(openDatabase(options));
  try {
    const set = await readOwnQuestions(path, user === undefined ? store : store.forUser(user));
    await work({ ...parts, set, openStore }, reranking);
  } finally {
    await store.close();
  }
}

interface Configuring {
  configured(store: EmbeddableStore): Store;
  /** Null without a reranker. */
  readonly reranking: Reranking | null;
}

/** Loads the models that are asked for, and gives what puts them on every store that is measured. Errors: those of `localModel()`. */
async function configuring({ reranker, embedder }: SetOptions): Promise<Configuring> {
  if (reranker === undefined && embedder === undefined) return { configured: (store) => store, reranking: null };
  const { localModel } = await import("@stemma/local");
  const load = async (model: string | true | undefined) =>
    model === undefined ? null : localModel(model === true ? {} : { model });
  const [ranks, embeds] = [await load(reranker), await load(embedder)];
  const embedded = (store: EmbeddableStore) => (embeds === null ? store : store.withEmbedder(embeds.embedder()));
  if (ranks === null) return { configured: embedded, reranking: null };
  const reranking = { asked: 0, shortened: 0, failed: 0 };
  const rerank = ranks.reranker({ timeBudget: PATIENCE });
  const counted: typeof rerank = async (...request) => {
    reranking.asked += 1;
    const scores = await rerank(...request);
    if (scores.includes(null)) reranking.shortened += 1;
    return scores;
  };
  const onError = () => {
    reranking.failed += 1;
  };
  // No search falls back while it is measured, however busy the machine is.
  return { configured: (store) => embedded(store).withReranker(counted, { timeout: PATIENCE, onError }), reranking };
}
