import type { SearchOperation } from "@langchain/langgraph-checkpoint";
import { allPages } from "../../adapters/pages.js";
import { isJsonObject } from "../../model/json-object.js";
import type { EntryScope, EntryStore, FoundEntry, ListedEntry } from "../../storage/contract.js";
import { fitsFilter } from "./filter.js";
import { keyPrefix } from "./namespace.js";

/** The entry of an item, with its score where a query found it. */
export type FoundItem = ListedEntry & Partial<Pick<FoundEntry, "score">>;

/** The entries of the items that an operation asks for: those that a query finds, best first, or all, by their keys. */
export async function findItems(
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
