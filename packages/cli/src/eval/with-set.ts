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
  work: (open: OpenSet) => Promise<void>,
): Promise<void> {
  const options = command.optsWithGlobals<DatabaseOptions & SetOptions>();
  const { limitConversations, half, together, user } = options;
  const parts = Object.fromEntries(
    Object.entries({ limitConversations, half, together }).filter(([, value]) => value !== undefined),
  );
  const configured = await configuring(options);
  const openStore = () => configured(memory());
  if (name !== OWN) {
    const own = options.db !== undefined ? "--db" : user !== undefined ? "--user" : null;
    if (own !== null) command.error(`${own} is for your own questions; a set is put into a store in memory`);
    return work({ ...parts, set: readEvalSet(name as EvalSetName, path), openStore });
  }
  assertThere(options);
  const store = configured(openDatabase(options));
  try {
    const set = await readOwnQuestions(path, user === undefined ? store : store.forUser(user));
    await work({ ...parts, set, openStore });
  } finally {
    await store.close();
  }
}

/** Loads the models that are asked for. Gives what puts them on every store that is measured. Errors: those of `localModel()`. */
async function configuring({ reranker, embedder }: SetOptions): Promise<(store: EmbeddableStore) => Store> {
  if (reranker === undefined && embedder === undefined) return (store) => store;
  const { localModel } = await import("@stemma/local");
  const load = async (model: string | true | undefined) =>
    model === undefined ? null : localModel(model === true ? {} : { model });
  const [ranks, embeds] = [await load(reranker), await load(embedder)];
  // No search falls back while it is measured, however busy the machine is.
  const patient = { timeout: PATIENCE };
  return (store) => {
    const embedded = embeds === null ? store : store.withEmbedder(embeds.embedder());
    return ranks === null ? embedded : embedded.withReranker(ranks.reranker({ timeBudget: PATIENCE }), patient);
  };
}
