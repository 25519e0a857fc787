import type { Store } from "@stemma/store";
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
  if (local === undefined) return store;
  try {
    const { localModel } = await import("@stemma/local");
    const model = await localModel(local === true ? {} : { model: local });
    // A cross-encoder makes no vectors.
    const embedded = model.dimensions === null ? store : store.withEmbedder(model.embedder());
    return embedded.withReranker(model.reranker());
  } catch (error) {
    await store.close();
    throw error;
  }
}
