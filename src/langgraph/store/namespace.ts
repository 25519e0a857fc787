import type { MatchCondition } from "@langchain/langgraph-checkpoint";
import { escapeName, readName } from "../names.js";

// No name of a namespace is empty, so two of them end it, and the keys of one namespace stand together.
const END = "//";

/** The key of an item's entry: its namespace's names, and its key. */
export function entryKey(namespace: readonly string[], key: string): string {
  return namespace.map(escapeName).join("/") + END + escapeName(key);
}

/** The namespace and key that an entry's key was made of. */
export function itemPlace(entryKey: string): { namespace: string[]; key: string } {
  const end = entryKey.indexOf(END);
  const names = entryKey.slice(0, end).split("/");
  return { namespace: names.map(readName), key: readName(entryKey.slice(end + END.length)) };
}

/** What the keys of all entries in and below a namespace begin with. */
export function keyPrefix(namespace: readonly string[]): string {
  return namespace.map((name) => `${escapeName(name)}/`).join("");
}

/** A key behind all those of a namespace itself, and before those of the namespaces behind it. */
export function behindNamespace(namespace: readonly string[]): string {
  return `${keyPrefix(namespace)}0`;
}

/** A key behind all those in and below a namespace. */
export function behindAllBelow(namespace: readonly string[]): string {
  return `${namespace.map(escapeName).join("/")}0`;
}

/** True for a namespace that begins or ends as each condition says; "*" stands for any one name. */
export function matches(namespace: readonly string[], conditions: readonly MatchCondition[] = []): boolean {
  return conditions.every(({ matchType, path }) => {
    if (path.length > namespace.length) return false;
    const start = matchType === "prefix" ? 0 : namespace.length - path.length;
    return path.every((name, index) => name === "*" || name === namespace[start + index]);
  });
}
