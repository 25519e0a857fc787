import { StemmaError } from "@stemma/model";
import type { EntryScope, KeptWrite, Store, StoredEntry, WriteOrigin } from "@stemma/store";
import { allPages } from "../../item-history.js";
import { directoryKey, type MemoryPath, parentsOf, realPath } from "./paths.js";
import { refused } from "./refused.js";

/** The file, the directory or nothing that stands under a path. */
export type Found =
  | { readonly kind: "file"; readonly content: string }
  | { readonly kind: "directory" }
  | { readonly kind: "missing" };

/** A change of one file; null for a file that is not there. */
export interface FileChange {
  readonly key: string;
  readonly from: string | null;
  readonly to: string | null;
}

/** Files that are entries of a store. A directory is an entry too, whose key ends in a slash. */
export interface MemoryFiles {
  /** Errors: `MEMORY_REFUSED` for a path below a file. */
  look(path: MemoryPath): Promise<Found>;
  /** Every entry below a directory, its own among them, in the order of their keys. */
  below(path: MemoryPath): Promise<StoredEntry[]>;
  /** Makes all of the changes, or none. Errors: `ENTRY_CONFLICT` where a file is not what the change is made of. */
  change(changes: readonly FileChange[], origin: WriteOrigin): Promise<void>;
}

/** An entry of a directory has this metadata beside its empty content, so that no search finds it. */
const DIRECTORY = "directory";

/** The files under the entries of `scope`. */
export function memoryFiles({ entries, writeTogether }: Store, scope: EntryScope): MemoryFiles {
  const isDirectory = async (key: string): Promise<boolean> =>
    key === "" || (await entries.list(scope, { prefix: directoryKey(key), limit: 1 })).length > 0;

  return {
    async look({ key }) {
      for (const parent of parentsOf(key)) {
        if ((await entries.get(scope, parent)) !== null) {
          throw refused(`ENOTDIR: not a directory, realpath '${realPath(key)}'`);
        }
        if (!(await isDirectory(parent))) return { kind: "missing" };
      }
      const file = key === "" ? null : await entries.get(scope, key);
      if (file !== null) return { kind: "file", content: file.content };
      return (await isDirectory(key)) ? { kind: "directory" } : { kind: "missing" };
    },

    async below({ key }) {
      const found: StoredEntry[] = [];
      for await (const entry of allPages(entries, scope, { prefix: directoryKey(key) })) found.push(entry);
      return found;
    },

    async change(changes, origin) {
      const write = ({ key, from, to }: FileChange): KeptWrite =>
        key.endsWith("/")
          ? directory(scope, key, to)
          : { entries: scope, key, content: to?.toWellFormed() ?? null, options: { origin, expectedContent: from } };
      const absent = (key: string): KeptWrite => ({
        entries: scope,
        key,
        content: null,
        options: { expectedContent: null },
      });
      const added = changes.filter(({ from, to }) => from === null && to !== null).map(({ key }) => key);
      const parents = new Set(added.flatMap(parentsOf));
      await writeTogether([
        ...changes.map(write),
        ...[...parents].map((key) => directory(scope, directoryKey(key), "")),
        // Behind a write, which waits for the other writers: a file and a directory have one name only once.
        ...[...parents].map(absent),
        ...added.filter((key) => !key.endsWith("/")).map((key) => absent(directoryKey(key))),
      ]);
    },
  };
}

/** Calls `attempt` again as long as someone else changes the files that it read meanwhile. */
export async function untilUnchanged<T>(attempt: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      // Who changed them got on, so this ends.
      if (!StemmaError.isInstance(error, "ENTRY_CONFLICT")) throw error;
    }
  }
}

function directory(scope: EntryScope, key: string, content: string | null): KeptWrite {
  const value = content === null ? undefined : DIRECTORY;
  return { entries: scope, key, content, value, options: { keepVersions: 0 } };
}
