import {
  BaseStore,
  type GetOperation,
  type Item,
  type Operation,
  type OperationResults,
  type PutOperation,
  type SearchItem,
  type SearchOperation,
  validateNamespace,
} from "@langchain/langgraph-checkpoint";
import { assertKnownOptions, type OptionNames } from "../../known-options.js";
import type { EntryScope, EntryWrite, ListedEntry, Store } from "../../storage/contract.js";
import { assertStore } from "../../storage/store-of.js";
import { type FoundItem, findItems } from "./find-items.js";
import { listNamespaces } from "./list-namespaces.js";
import { entryKey, itemPlace } from "./namespace.js";
import { searchableText } from "./searchable-text.js";

export interface StemmaStoreOptions {
  /** The label of the entries: stores with different labels share nothing. Default: "langgraph". */
  readonly label?: string | undefined;
  /** The paths of a value whose text is searched, unless `put` names others. Default: `["$"]`, all of it. */
  readonly index?: readonly string[] | undefined;
}

const NAMES: OptionNames<StemmaStoreOptions> = { label: true, index: true };

const ALL = { allowEmpty: true, allowReservedRoot: true };

/**
 * LangGraph's long-term memory on a store of ours. An item is a searchable entry whose value is kept as JSON. A query finds
 * the items that hold its words, best first, each with a `score`; without one, items come in the order of their namespaces
 * and keys. On a store of one user (`store.forUser`) the items are that user's, otherwise everybody's.
 *
 * The operations of a batch that read see what was there before it; those that write are all made or none.
 */
export class StemmaStore extends BaseStore {
  readonly #store: Store;
  readonly #scope: EntryScope;
  readonly #index: readonly string[];

  /** Errors: `STORE_UNSUPPORTED` for what is no store, `INVALID_ARGUMENT` for options. */
  constructor(store: Store, options: StemmaStoreOptions = {}) {
    super();
    assertKnownOptions(options, "StemmaStore", NAMES);
    const { label = "langgraph", index = ["$"] } = options;
    assertStore(store, "A StemmaStore");
    this.#store = store;
    this.#scope = { sessionId: "", label, scope: store.userId === undefined ? { key: "langgraph" } : "user" };
    this.#index = index;
  }

  /**
   * Makes operations of any kind. Errors: LangGraph's `InvalidNamespaceError` for namespaces that it does not permit,
   * `INVALID_ARGUMENT` for a value that is no JSON, `SEARCH_UNAVAILABLE`.
   */
  override async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    const writes = operations.filter(isPut).map((operation) => this.#writeOf(operation));
    const results = await Promise.all(operations.map((operation) => this.#read(operation)));
    if (writes.length > 0) await this.#store.writeTogether(writes);
    return results as OperationResults<Op>;
  }

  #read(operation: Operation): Promise<Item | null | SearchItem[] | string[][] | undefined> {
    if (isPut(operation)) return Promise.resolve(undefined);
    if ("namespacePrefix" in operation) return this.#search(operation);
    return "namespace" in operation
      ? this.#get(operation)
      : listNamespaces(this.#store.entries, this.#scope, operation);
  }

  async #get({ namespace, key }: GetOperation): Promise<Item | null> {
    validateNamespace(namespace, ALL);
    const entry = await this.#store.entries.get(this.#scope, entryKey(namespace, key));
    return entry === null ? null : itemOf(entry);
  }

  async #search(operation: SearchOperation): Promise<SearchItem[]> {
    validateNamespace(operation.namespacePrefix, ALL);
    return (await findItems(this.#store.entries, this.#scope, operation)).map(searchItemOf);
  }

  #writeOf({ namespace, key, value, index }: PutOperation): EntryWrite {
    validateNamespace(namespace, { allowReservedRoot: true });
    // The value is what counts, and it has no versions.
    const place = { entries: this.#scope, key: entryKey(namespace, key), options: { keepVersions: 0 } };
    if (value === null) return { ...place, content: null };
    return { ...place, content: index === false ? "" : searchableText(value, index ?? this.#index), value };
  }
}

function isPut(operation: Operation): operation is PutOperation {
  return "value" in operation;
}

function itemOf({ key, value, createdAt, updatedAt }: ListedEntry): Item {
  return {
    ...itemPlace(key),
    value: value as Item["value"],
    createdAt: new Date(createdAt),
    updatedAt: new Date(updatedAt),
  };
}

function searchItemOf({ score, ...entry }: FoundItem): SearchItem {
  return score === undefined ? itemOf(entry) : { ...itemOf(entry), score };
}
