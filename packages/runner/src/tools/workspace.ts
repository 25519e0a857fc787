import type { Stats } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { invalid, type StemmaError } from "@stemma/model";
import { codeOf, files, paths, replaceFile } from "@stemma/model/files";
import { type Entry, OpenDirectory, type Walk, walkBelow } from "./open-directory.js";
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
        throw invalid(`${path} is outside of the working directory.`, { path });
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

  /** Opens a file to read it. Errors: `INVALID_ARGUMENT` outside of the directory, and for what is no regular file. */
  async open(path: string): Promise<FileHandle> {
    return this.openFound({ path, absolute: await this.resolve(path) });
  }

  /** Opens a file that was found just now. What was put in its place since then, or in that of a directory, is refused. */
  async openFound({ path, absolute }: Entry): Promise<FileHandle> {
    const file = await openRegular(absolute, path, "read");
    try {
      const location = await locationOf(file, absolute);
      if (location !== null && (await isWithin(await this.directory(), location))) return file;
      throw invalid(`${path} was replaced while it was opened; try again.`, { path });
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /** Replaces a file's content, whole or not at all; who may use it stays. Errors: `INVALID_ARGUMENT` as for `open`. */
  async write(path: string, text: string, how: Purpose): Promise<void> {
    const target = await this.resolve(path);
    const { basename, dirname } = await paths();
    await this.inDirectory(dirname(target), { path: dirname(path), create: how === "create" }, async (directory) => {
      const file = await directory.within(basename(target));
      const before = await attributesOf(file, path, how);
      await directory.assertInPlace();
      await replaceFile(file, text, before).catch((cause: unknown) => {
        throw notAFile(path, `cannot be written (${codeOf(cause)}); it is as it was`, cause);
      });
    });
  }

  /** The names in a directory, those of directories with a / at their end. Errors: `INVALID_ARGUMENT`. */
  async list(path: string): Promise<string[]> {
    const entries = await this.inDirectory(await this.resolve(path), { path }, (directory) => directory.entries());
    return entries.map((entry) => `${entry.name}${entry.isDirectory() ? "/" : entry.isSymbolicLink() ? "@" : ""}`);
  }

  /** The files below a directory, by name, without following links. What cannot be read is passed over. */
  async walk(directory: string, signal: AbortSignal | undefined): Promise<Walk> {
    const start = await this.relative(directory);
    return this.inDirectory(directory, { path: start }, (at) => walkBelow(at, start, signal));
  }

  private async inDirectory<T>(
    absolute: string,
    { path, create = false }: { path: string; create?: boolean },
    work: (directory: OpenDirectory) => Promise<T>,
  ): Promise<T> {
    const root = await this.directory();
    const directory = await OpenDirectory.open(root, absolute, { create }).catch((cause: unknown) => {
      const why = codeOf(cause) === "ENOENT" ? "is not there" : "is not a directory that can be opened";
      throw notAFile(path, why, cause);
    });
    try {
      return await work(directory);
    } finally {
      await directory.close();
    }
  }
}

/** True for a path in `root` or below it, both free of links. */
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
    const code = codeOf(error);
    if (code === "ENOTDIR") throw invalid(`${path} lies below a file.`, { path });
    if (code !== "ENOENT") throw error;
    const link = await lstat(path).catch(() => null);
    if (link === null) return null;
    throw invalid(`${path} is a link that leads nowhere.`, { path });
  }
}

/** The target of a write: a file that is there, or one whether it is there or not; then its directories are made. */
type Purpose = "write" | "create";

/** The attributes that a file passes to the one that replaces it; none for a new one. Errors: `INVALID_ARGUMENT`. */
async function attributesOf(file: string, path: string, how: Purpose): Promise<{ mode?: number; owner?: Stats }> {
  try {
    const before = await openRegular(file, path, "write");
    try {
      const stats = await before.stat();
      return { mode: stats.mode & 0o7777, owner: stats };
    } finally {
      await before.close();
    }
  } catch (error) {
    const absent = codeOf((error as { cause?: unknown }).cause) === "ENOENT";
    if (how === "create" && absent) return {};
    throw error;
  }
}

/** Opens what is a file and no link, device or pipe. Errors: `INVALID_ARGUMENT`. */
async function openRegular(absolute: string, path: string, access: "read" | "write"): Promise<FileHandle> {
  const { constants, open } = await files();
  const { O_NOFOLLOW = 0, O_NONBLOCK = 0, O_RDONLY, O_WRONLY } = constants;
  // Without O_NONBLOCK a pipe would keep us waiting.
  const flags = (access === "read" ? O_RDONLY : O_WRONLY) | O_NOFOLLOW | O_NONBLOCK;
  const file = await open(absolute, flags).catch((cause: unknown) => {
    throw notAFile(path, codeOf(cause) === "ENOENT" ? "is not there" : "is not a file that can be opened", cause);
  });
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw notAFile(path, "is not a file");
}

/** Where an open file lies, free of links; null when that is not known for sure. */
async function locationOf(file: FileHandle, path: string): Promise<string | null> {
  const { lstat, readlink, realpath } = await files();
  // Linux says it of the open file itself.
  const target = await readlink(`/proc/self/fd/${file.fd}`).catch(() => null);
  if (target !== null) return target;
  const [opened, found] = await Promise.all([file.stat(), lstat(path)]);
  return opened.ino === found.ino && opened.dev === found.dev ? realpath(path) : null;
}

/** The error for a path that is no file to work with. */
function notAFile(path: string, why: string, cause?: unknown): StemmaError {
  return invalid(`${path} ${why}.`, { path }, { cause });
}
