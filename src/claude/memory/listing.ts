import { utf8Length } from "../../model/utf8.js";
import type { StoredEntry } from "../../storage/contract.js";
import { directoryKey, type MemoryPath } from "./paths.js";

/** How many levels of a directory are listed. */
const LEVELS = 2;

/** What `view` shows of a directory: each file and directory with its size. That of a directory is the sum of its files. */
export function listing({ given, key }: MemoryPath, entries: readonly StoredEntry[]): string {
  const sizes = new Map<string, number>();
  let total = 0;
  for (const entry of entries) {
    const size = utf8Length(entry.content);
    total += size;
    for (const name of namesOf(entry.key.slice(directoryKey(key).length))) {
      sizes.set(name, (sizes.get(name) ?? 0) + size);
    }
  }
  // A directory comes before what is in it, and that before its next neighbour.
  const inOrder = [...sizes].map(([name, size]) => ({ name, size, order: name.replaceAll("/", "\0") }));
  inOrder.sort((a, b) => (a.order < b.order ? -1 : 1));
  const lines = inOrder.map(({ name, size }) => `${sizeText(size)}\t${given}/${name}`);
  const head = `Here're the files and directories up to ${LEVELS} levels deep in ${given}, excluding hidden items and node_modules:`;
  return [head, `${sizeText(total)}\t${given}`, ...lines].join("\n");
}

// What a key adds to the listing: the directories above it, with a slash at the end, and its file.
function namesOf(key: string): string[] {
  const shown: string[] = [];
  const names = key.split("/");
  for (const [level, name] of names.slice(0, LEVELS).entries()) {
    if (name === "" || name.startsWith(".") || name === "node_modules") break;
    const isDirectory = level < names.length - 1;
    shown.push(names.slice(0, level + 1).join("/") + (isDirectory ? "/" : ""));
  }
  return shown;
}

// One decimal, unless there is nothing behind the point.
function sizeText(bytes: number): string {
  let size = bytes;
  let unit = "B";
  for (const next of ["K", "M", "G"]) {
    if (size < 1024) break;
    size /= 1024;
    unit = next;
  }
  return `${Number.isInteger(size) ? size : size.toFixed(1)}${unit}`;
}
