import type { Dirent } from "node:fs";
import type { FileHandle } from "node:fs/promises";
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
}

/** What a file is opened for: to read it, to write one that is there, to write one whether it is there or not. */
export type Purpose = "read" | "write" | "create";

export interface Walk {
  readonly files: readonly Entry[];
  /** False when there were more entries than a search looks at. */
  readonly complete: boolean;
}

/** What a search says when it did not see everything. */
export const INCOMPLETE = `\n(Only the first ${MAX_ENTRIES} entries were looked at; name a directory.)`;

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

  /**
   * Opens a file; to `create` it, its directories are made. Errors: `INVALID_ARGUMENT` outside of the directory, and for
   * what is no regular file.
   */
  async open(path: string, how: Purpose): Promise<FileHandle> {
    const target = await this.resolve(path);
    if (how === "create") {
      const { mkdir } = await files();
      await mkdir((await paths()).dirname(target), { recursive: true });
    }
    return this.openFound({ path, absolute: target }, how);
  }

  /** Opens a file that was found just now. What was put in its place since then, or in that of a directory, is refused. */
  async openFound({ path, absolute }: Entry, how: Purpose): Promise<FileHandle> {
    const file = await openRegular(absolute, path, how);
    try {
      const location = await locationOf(file, absolute);
      if (location !== null && (await isWithin(await this.directory(), location))) return file;
      throw new StemmaError("INVALID_ARGUMENT", { path }, `${path} was replaced while it was opened; try again.`);
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /** The files below a directory, by name, without following links. What cannot be read is passed over. */
  async walk(directory: string, signal: AbortSignal | undefined): Promise<Walk> {
    const { join } = await paths();
    const found: Entry[] = [];
    const waiting = [directory];
    let seen = 0;
    for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
      for (const entry of await entriesOf(at)) {
        signal?.throwIfAborted();
        seen += 1;
        if (seen > MAX_ENTRIES) return { files: found, complete: false };
        const absolute = join(at, entry.name);
        if (entry.isFile()) found.push({ path: await this.relative(absolute), absolute });
        else if (entry.isDirectory() && !SKIPPED.has(entry.name)) waiting.push(absolute);
      }
    }
    return { files: found, complete: true };
  }
}

async function entriesOf(directory: string): Promise<Dirent[]> {
  const { readdir, realpath } = await files();
  try {
    const entries = await readdir(directory, { withFileTypes: true });
    // A directory may have become a link since it was listed.
    if ((await realpath(directory)) !== directory) return [];
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch {
    return [];
  }
}

/** Opens what is a file and no link, device or pipe. Errors: `INVALID_ARGUMENT`. */
async function openRegular(absolute: string, path: string, how: Purpose): Promise<FileHandle> {
  const { constants, open } = await files();
  const { O_CREAT, O_NOFOLLOW = 0, O_NONBLOCK = 0, O_RDONLY, O_WRONLY } = constants;
  // Without O_NONBLOCK a pipe would keep us waiting.
  const access = { read: O_RDONLY, write: O_WRONLY, create: O_WRONLY | O_CREAT }[how];
  const flags = access | O_NOFOLLOW | O_NONBLOCK;
  const file = await open(absolute, flags).catch((cause: unknown) => {
    const { code } = cause as { code?: unknown };
    throw notAFile(path, code === "ENOENT" ? "is not there" : "is not a file that can be opened", cause);
  });
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw notAFile(path, "is not a file");
}

/** Where an open file lies, free of links; null when that is not known for sure. */
async function locationOf(file: FileHandle, path: string): Promise<string | null> {
  const { lstat, readlink, realpath } = await files();
  // Linux says it of the open file itself.
  const told = await readlink(`/proc/self/fd/${file.fd}`).catch(() => null);
  if (told !== null) return told;
  const [opened, found] = await Promise.all([file.stat(), lstat(path)]);
  return opened.ino === found.ino && opened.dev === found.dev ? realpath(path) : null;
}

function notAFile(path: string, why: string, cause?: unknown): StemmaError {
  return new StemmaError("INVALID_ARGUMENT", { path }, `${path} ${why}.`, { cause });
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
