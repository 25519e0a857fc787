import type { Dirent } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { invalid } from "@stemma/model";
import { codeOf, files, paths } from "@stemma/model/files";

/**
 * A directory that is held open, so that what is put in its place meanwhile does not matter. On Linux what lies in it is
 * reached through the open directory itself. Elsewhere it is reached by its path, and looked at again afterwards.
 */
export class OpenDirectory {
  private constructor(
    /** Its path when it was opened, free of links. */
    readonly path: string,
    private readonly handle: FileHandle,
    /** The path by which this process reaches it. */
    private readonly reach: string,
  ) {}

  /** Opens a directory below `root`, which is free of links, step by step and without following one. */
  static async open(root: string, path: string, { create = false } = {}): Promise<OpenDirectory> {
    const { relative, sep } = await paths();
    const steps = relative(root, path).split(sep);
    let directory = await OpenDirectory.at(root, root);
    for (const step of steps) {
      if (step === "") continue;
      try {
        if (create) await directory.make(step);
        const next = await directory.enter(step);
        await directory.close();
        directory = next;
      } catch (error) {
        await directory.close();
        throw error;
      }
    }
    return directory;
  }

  private static async at(reach: string, path: string): Promise<OpenDirectory> {
    const { constants, open, readlink } = await files();
    const { O_DIRECTORY = 0, O_NOFOLLOW = 0, O_RDONLY } = constants;
    const handle = await open(reach, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    const own = `/proc/self/fd/${handle.fd}`;
    const reachable = await readlink(own).then(
      () => true,
      () => false,
    );
    return new OpenDirectory(path, handle, reachable ? own : path);
  }

  /** The path by which something in it can be opened. */
  async within(name: string): Promise<string> {
    return (await paths()).join(this.reach, name);
  }

  /** Opens a directory in it. Fails for a link. */
  async enter(name: string): Promise<OpenDirectory> {
    return OpenDirectory.at(await this.within(name), (await paths()).join(this.path, name));
  }

  async entries(): Promise<Dirent[]> {
    const { readdir } = await files();
    const entries = await readdir(this.reach, { withFileTypes: true });
    await this.assertInPlace();
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Errors: `INVALID_ARGUMENT` when the directory is no longer where it was opened. */
  async assertInPlace(): Promise<void> {
    const { readlink, stat } = await files();
    if (this.reach !== this.path) {
      if ((await readlink(this.reach)) === this.path) return;
    } else {
      const { realpath } = await files();
      const [opened, found] = await Promise.all([this.handle.stat(), stat(this.path).catch(() => null)]);
      const same = found !== null && found.ino === opened.ino && found.dev === opened.dev;
      if (same && (await realpath(this.path)) === this.path) return;
    }
    throw invalid("The directory was moved while it was used; try again.");
  }

  async close(): Promise<void> {
    await this.handle.close();
  }

  private async make(name: string): Promise<void> {
    const { mkdir } = await files();
    await mkdir(await this.within(name)).catch((error: unknown) => {
      if (codeOf(error) !== "EEXIST") throw error;
    });
  }
}

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
