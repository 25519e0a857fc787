import {
  BaseStore,
  type GetOperation,
  type Item,
  type ListNamespacesOperation,
  type MatchCondition,
  type Operation,
  type OperationResults,
  type PutOperation,
  type SearchItem,
  type SearchOperation,
  validateNamespace,
} from "@langchain/langgraph-checkpoint";
import { check, defineOptions, isJsonObject, type JsonObject, sameJson, storableText } from "@stemma/model";
import type { EntryScope, EntryStore, EntryWrite, FoundEntry, ListedEntry, Store } from "@stemma/store";
import { assertStore } from "@stemma/store";
import { allPages } from "../../item-history.js";
import { escapeName, readName } from "../saver/keys.js";
export interface StemmaStoreOptions {
  /** The label of the entries: stores with different labels share nothing. Default: "langgraph". */
  readonly label?: string | undefined;
  /** The paths of a value whose text is searched, unless `put` names others. Default: `["$"]`, all of it. */
  readonly index?: readonly string[] | undefined;
}

const OPTIONS = defineOptions<StemmaStoreOptions>({ label: check.text, index: check.texts("paths") });

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
    OPTIONS.assert(options, "StemmaStore");
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

/** The entry of an item, with its score where a query found it. */
type FoundItem = ListedEntry & Partial<Pick<FoundEntry, "score">>;

/** The entries of the items that an operation asks for: those that a query finds, best first, or all, by their keys. */
async function findItems(
  entries: EntryStore,
  scope: EntryScope,
  { namespacePrefix, filter, query, limit = 10, offset = 0 }: SearchOperation,
): Promise<FoundItem[]> {
  const prefix = keyPrefix(namespacePrefix);
  const end = offset + limit;
  const found: AsyncGenerator<FoundItem> = query
    ? ranked(entries, scope, query, prefix, end)
    : allPages(entries, scope, { prefix });
  const items: FoundItem[] = [];
  if (limit <= 0) return items;
  for await (const entry of found) {
    if (!isJsonObject(entry.value) || !fitsFilter(entry.value, filter)) continue;
    if (items.push(entry) === end) break;
  }
  return items.slice(offset);
}

// Once more with a larger limit while the filter leaves too few.
async function* ranked(entries: EntryStore, scope: EntryScope, query: string, prefix: string, first: number) {
  for (let limit = first, seen = 0; ; limit *= 4) {
    const found = await entries.search(scope, query, { limit, prefix });
    yield* found.slice(seen);
    if (found.length < limit) return;
    seen = found.length;
  }
}

type Compare = (found: unknown, wanted: unknown) => boolean;

const OPERATORS: Readonly<Record<string, Compare>> = {
  $eq: sameJson,
  $ne: (found, wanted) => !sameJson(found, wanted),
  $gt: (found, wanted) => order(found, wanted) > 0,
  $gte: (found, wanted) => order(found, wanted) >= 0,
  $lt: (found, wanted) => order(found, wanted) < 0,
  $lte: (found, wanted) => order(found, wanted) <= 0,
  $in: (found, wanted) => Array.isArray(wanted) && wanted.some((value) => sameJson(found, value)),
  $nin: (found, wanted) => !(Array.isArray(wanted) && wanted.some((value) => sameJson(found, value))),
};

/** True for a value whose fields are those of the filter, or compare with them as its operators say. */
function fitsFilter(value: JsonObject, filter: JsonObject = {}): boolean {
  return Object.entries(filter).every(([field, wanted]) => {
    const found = Object.hasOwn(value, field) ? value[field] : undefined;
    const operators = isJsonObject(wanted) ? Object.entries(wanted) : [];
    if (operators.length === 0 || !operators.every(([name]) => Object.hasOwn(OPERATORS, name))) {
      return sameJson(found, wanted);
    }
    return operators.every(([name, bound]) => OPERATORS[name]?.(found, bound));
  });
}

// Numbers, and texts that are numbers, by size; other texts by their characters. NaN for a number and another text.
function order(found: unknown, wanted: unknown): number {
  const [a, b] = [numberOf(found), numberOf(wanted)];
  if (!Number.isNaN(a) || !Number.isNaN(b)) return a - b;
  if (typeof found !== "string" || typeof wanted !== "string") return Number.NaN;
  return found < wanted ? -1 : found > wanted ? 1 : 0;
}

function numberOf(value: unknown): number {
  if (typeof value === "number") return value;
  return typeof value === "string" && value.trim() !== "" ? Number(value) : Number.NaN;
}

/**
 * The namespaces that have items and fit the conditions, in the order of their keys, cut to `maxDepth` names. It reads one
 * entry of each namespace.
 */
async function listNamespaces(
  entries: EntryStore,
  scope: EntryScope,
  { matchConditions = [], maxDepth = Number.POSITIVE_INFINITY, limit, offset }: ListNamespacesOperation,
): Promise<string[][]> {
  const found: string[][] = [];
  const prefix = keyPrefix(commonPrefix(matchConditions));
  for (let after: string | undefined; found.length < offset + limit; ) {
    const [entry] = await entries.list(scope, { prefix, after, limit: 1 });
    if (entry === undefined) break;
    const { namespace } = itemPlace(entry.key);
    after = behindNamespace(namespace);
    if (!matches(namespace, matchConditions)) continue;
    found.push(namespace.slice(0, maxDepth));
    // What is below would be the same once it is cut.
    if (namespace.length >= maxDepth) after = behindAllBelow(namespace.slice(0, maxDepth));
  }
  return found.slice(offset, offset + limit);
}

// The names with which every namespace that fits begins.
function commonPrefix(conditions: ListNamespacesOperation["matchConditions"] = []): string[] {
  const path = conditions.find(({ matchType }) => matchType === "prefix")?.path ?? [];
  const wildcard = path.indexOf("*");
  return path.slice(0, wildcard === -1 ? path.length : wildcard);
}

/** The texts, numbers and truth values at the paths of a value, a line each. "$" is all of them. */
export function searchableText(value: JsonObject, paths: readonly string[]): string {
  return storableText(paths.flatMap((path) => textsAt(value, stepsOf(path))).join("\n"));
}

/** `chapters[*].{title,text}` in its steps: names, `[index]`, `[*]`, `*` and `{several,paths}`. */
function stepsOf(path: string): string[] {
  return path.match(/\[[^\]]{0,1000}\]|\{[^}]{0,1000}\}|[^.[{]+/g) ?? [];
}

function textsAt(value: unknown, [step, ...rest]: readonly string[]): string[] {
  if (step === undefined) return leavesOf(value);
  if (step === "$") return textsAt(value, rest);
  if (step.startsWith("{")) {
    const paths = step.slice(1, -1).split(",");
    return paths.flatMap((path) => textsAt(value, [...stepsOf(path.trim()), ...rest]));
  }
  return childrenAt(value, step).flatMap((child) => textsAt(child, rest));
}

function childrenAt(value: unknown, step: string): unknown[] {
  if (step.startsWith("[")) {
    if (!Array.isArray(value)) return [];
    const index = step.slice(1, -1);
    return index === "*" ? value : [value.at(Number.parseInt(index, 10))];
  }
  if (typeof value !== "object" || value === null) return [];
  if (step === "*") return Object.values(value);
  return isJsonObject(value) && Object.hasOwn(value, step) ? [value[step]] : [];
}

function leavesOf(value: unknown): string[] {
  if (typeof value === "object" && value !== null) return Object.values(value).flatMap(leavesOf);
  return value === null || value === undefined ? [] : [String(value)];
}

// No name of a namespace is empty, so two of them end it, and the keys of one namespace stand together.
const END = "//";

/** The key of an item's entry: its namespace's names, and its key. */
function entryKey(namespace: readonly string[], key: string): string {
  return namespace.map(escapeName).join("/") + END + escapeName(key);
}

/** The namespace and key that an entry's key was made of. */
function itemPlace(entryKey: string): { namespace: string[]; key: string } {
  const end = entryKey.indexOf(END);
  const names = entryKey.slice(0, end).split("/");
  return { namespace: names.map(readName), key: readName(entryKey.slice(end + END.length)) };
}

/** The beginning of the keys of all entries in and below a namespace. */
function keyPrefix(namespace: readonly string[]): string {
  return namespace.map((name) => `${escapeName(name)}/`).join("");
}

/** A key behind all those of a namespace itself, and before those of the namespaces behind it. */
function behindNamespace(namespace: readonly string[]): string {
  return `${keyPrefix(namespace)}0`;
}

/** A key behind all those in and below a namespace. */
function behindAllBelow(namespace: readonly string[]): string {
  return `${namespace.map(escapeName).join("/")}0`;
}

/** True for a namespace that begins or ends as each condition says; "*" stands for any one name. */
function matches(namespace: readonly string[], conditions: readonly MatchCondition[] = []): boolean {
  return conditions.every(({ matchType, path }) => {
    if (path.length > namespace.length) return false;
    const start = matchType === "prefix" ? 0 : namespace.length - path.length;
    return path.every((name, index) => name === "*" || name === namespace[start + index]);
  });
}
