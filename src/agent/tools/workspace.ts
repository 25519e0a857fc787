import { StemmaError } from "../../errors.js";

// Loaded with the first call, so that the tools can be imported where there is no file system.
export const files = () => import("node:fs/promises");
export const paths = () => import("node:path");

/** Directories that searches pass over. */
const SKIPPED = new Set([".git", "node_modules"]);
/** Entries that a search looks at, at most. */
const MAX_ENTRIES = 50_000;

export interface Entry {
  /** Relative to the working directory, with `/`. */
  readonly path: string;
  readonly absolute: string;
  readonly directory: boolean;
}

/** The directory that the tools are confined to. Nothing outside of it is read or written, whatever paths and links say. */
export class Workspace {
  /** `root` is null for the process's working directory, as it is at each call. */
  constructor(private readonly root: string | null) {}

  /** The directory itself, free of links. */
  async directory(): Promise<string> {
    const { realpath } = await files();
    return realpath(this.root ?? (globalThis as { process?: { cwd(): string } }).process?.cwd() ?? ".");
  }

  /**
   * The absolute path, free of links, of something that need not be there yet. Errors: `INVALID_ARGUMENT` outside of the
   * directory.
   */
  async resolve(path: string): Promise<string> {
    const { basename, dirname, join, resolve } = await paths();
    const root = await this.directory();
    let existing = resolve(root, path);
    const missing: string[] = [];
    for (;;) {
      const real = await realPath(existing);
      if (real !== null) {
        const target = join(real, ...missing);
        if (await isWithin(root, target)) return target;
        throw new StemmaError("INVALID_ARGUMENT", { path }, `${path} is outside of the working directory.`);
      }
      missing.unshift(basename(existing));
      existing = dirname(existing);
    }
  }

  /** The path as the model knows it. */
  async relative(absolute: string): Promise<string> {
    const { relative, sep } = await paths();
    return (
      relative(await this.directory(), absolute)
        .split(sep)
        .join("/") || "."
    );
  }

  /** Everything below a directory, by name, without following links. */
  async *walk(directory: string): AsyncGenerator<Entry> {
    const { readdir } = await files();
    const { join } = await paths();
    const waiting = [directory];
    let seen = 0;
    for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
      const entries = await readdir(at, { withFileTypes: true });
      entries.sort((a, b) => (a.name < b.name ? -1 : 1));
      for (const entry of entries) {
        seen += 1;
        if (seen > MAX_ENTRIES) return;
        const absolute = join(at, entry.name);
        const path = await this.relative(absolute);
        if (entry.isFile()) yield { path, absolute, directory: false };
        if (!entry.isDirectory() || SKIPPED.has(entry.name)) continue;
        yield { path, absolute, directory: true };
        waiting.push(absolute);
      }
    }
  }
}

async function isWithin(root: string, path: string): Promise<boolean> {
  const { isAbsolute, relative, sep } = await paths();
  const way = relative(root, path);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/** Free of links; null when there is nothing. A link that leads nowhere is refused: writing through it could land anywhere. */
async function realPath(path: string): Promise<string | null> {
  const { lstat, realpath } = await files();
  try {
    return await realpath(path);
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code === "ENOTDIR") throw new StemmaError("INVALID_ARGUMENT", { path }, `${path} lies below a file.`);
    if (code !== "ENOENT") throw error;
    const link = await lstat(path).catch(() => null);
    if (link === null) return null;
    throw new StemmaError("INVALID_ARGUMENT", { path }, `${path} is a link that leads nowhere.`);
  }
}
