import type { ListNamespacesOperation } from "@langchain/langgraph-checkpoint";
import type { EntryScope, EntryStore } from "../../storage/contract.js";
import { behindAllBelow, behindNamespace, itemPlace, keyPrefix, matches } from "./namespace.js";

/**
 * The namespaces that have items and fit the conditions, in the order of their keys, cut to `maxDepth` names. It reads one
 * entry of each namespace.
 */
export async function listNamespaces(
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
