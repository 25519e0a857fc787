import type { EmbeddableStore, Store } from "@stemma/store";
import { Option } from "commander";
import { type DatabaseOptions, openDatabase } from "./open-database.js";

export interface LocalOptions {
  /** The folder of a model, or its name on the hub; true for the one that is used where none is named. */
  local?: string | true;
}

/** `--local`, of the commands that search. */
export function localOption(): Option {
  const description = "search with a model on this machine, of this folder; default: all-MiniLM-L6-v2, fetched once";
  return new Option("--local [folder]", description);
}

/** Opens the database; with `--local`, its searches use a model. Errors: those of `openDatabase()` and `localModel()`. */
export async function openLocal({ local, ...options }: DatabaseOptions & LocalOptions): Promise<Store> {
  const store = openDatabase(options);
  try {
    const search = await localSearch(local);
    return search(store);
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Gives stores the model of `--local`, one for all of them; without it they stay as they are. Errors: those of `localModel()`. */
export async function localSearch(local: LocalOptions["local"]): Promise<(store: EmbeddableStore) => Store> {
  if (local === undefined) return (store) => store;
  const { localModel } = await import("@stemma/local");
  const model = await localModel(local === true ? {} : { model: local });
  return (store) => {
    // A cross-encoder makes no vectors.
    const embedded = model.dimensions === null ? store : store.withEmbedder(model.embedder());
    return embedded.withReranker(model.reranker());
  };
}
