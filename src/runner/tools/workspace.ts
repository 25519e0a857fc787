import type { FileHandle } from "node:fs/promises";
import { invalid } from "../../errors.js";
import { codeOf, files, paths, replaceFile } from "../../files/replace-file.js";
import { OpenDirectory } from "./open-directory.js";
import { isWithin, realPath } from "./real-path.js";
import type { Purpose } from "./regular-file.js";
import { attributesOf, locationOf, notAFile, openRegular } from "./regular-file.js";
import { type Entry, type Walk, walkBelow } from "./walk.js";

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
