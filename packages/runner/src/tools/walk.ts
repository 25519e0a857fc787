import { paths } from "@stemma/model/files";
import type { OpenDirectory } from "./open-directory.js";

/** Directories that searches pass over. */
const SKIPPED = new Set([".git", "node_modules"]);
/** Entries that a search looks at, at most. */
const MAX_ENTRIES = 50_000;

/** A file that a search found. */
export interface Entry {
  /** Relative to the working directory, with `/`. */
  readonly path: string;
  readonly absolute: string;
}

export interface Walk {
  readonly files: readonly Entry[];
  /** False when there were more entries than a search looks at. */
  readonly complete: boolean;
}

export const INCOMPLETE = `\n(Only the first ${MAX_ENTRIES} entries were looked at; name a directory.)`;

/** The files below a directory, which is `start` as the model knows it, by name, without following links. */
export async function walkBelow(top: OpenDirectory, start: string, signal: AbortSignal | undefined): Promise<Walk> {
  const { join } = await paths();
  const found: Entry[] = [];
  let seen = 0;
  const visit = async (at: OpenDirectory, path: string): Promise<boolean> => {
    // What was moved away while it was read is not shown.
    for (const entry of await at.entries().catch(() => [])) {
      signal?.throwIfAborted();
      seen += 1;
      if (seen > MAX_ENTRIES) return false;
      const entryPath = path === "." ? entry.name : `${path}/${entry.name}`;
      if (entry.isFile()) found.push({ path: entryPath, absolute: join(at.path, entry.name) });
      else if (entry.isDirectory() && !SKIPPED.has(entry.name)) {
        const below = await at.enter(entry.name).catch(() => null);
        if (below === null) continue;
        try {
          if (!(await visit(below, entryPath))) return false;
        } finally {
          await below.close();
        }
      }
    }
    return true;
  };
  const complete = await visit(top, start);
  return { files: found, complete };
}
