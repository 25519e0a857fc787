import { invalid } from "../../errors.js";
import { assertStorableText } from "../../model/text.js";
import { utf8Length } from "../../model/utf8.js";
import { refused } from "./refused.js";

/** A path as the model gave it, and the key of the entry that it names: "" for /memories itself. */
export interface MemoryPath {
  readonly given: string;
  readonly key: string;
}

const ROOT = "/memories";

/** What a file system takes, in bytes of UTF-8. */
const MAX_NAME = 255;
const MAX_KEY = 1024;

/** Reads a path as a file system does: "." and ".." are resolved first. Errors: `MEMORY_REFUSED`, `INVALID_ARGUMENT`, `INVALID_TEXT`. */
export function parsePath(given: unknown): MemoryPath {
  if (typeof given !== "string") throw invalid("A path of the memory tool must be a text, such as /memories/notes.md.");
  if (!given.startsWith(ROOT)) throw refused(`Path must start with ${ROOT}, got: ${given}`);
  const [top, ...names] = resolve(given.slice(ROOT.length)) ?? [];
  if (top !== ROOT) throw refused(`Path ${given} would escape ${ROOT} directory`);
  const key = names.join("/").toWellFormed();
  assertStorableText(key, "A path");
  if (utf8Length(key) > MAX_KEY || names.some((name) => utf8Length(name) > MAX_NAME)) {
    throw refused(`ENAMETOOLONG: name too long, realpath '${realPath(key)}'`);
  }
  return { given, key };
}

/** The directories above a key, from the top, without /memories. */
export function parentsOf(key: string): string[] {
  const names = key.split("/");
  return names.slice(0, -1).map((_, index) => names.slice(0, index + 1).join("/"));
}

/** The key that every entry of a directory begins with. A directory that the tool made has an entry of just this key. */
export function directoryKey(key: string): string {
  return key === "" ? "" : `${key}/`;
}

/** The path of a key. */
export function realPath(key: string): string {
  return key === "" ? ROOT : `${ROOT}/${key}`;
}

// The names from the top, /memories among them; null above all of them.
function resolve(rest: string): string[] | null {
  const names = [ROOT];
  for (const name of rest.split("/")) {
    if (name === "" || name === ".") continue;
    if (name !== "..") names.push(names.length === 0 ? `/${name}` : name);
    else if (names.pop() === undefined) return null;
  }
  return names;
}
