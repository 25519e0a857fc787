import { isUtf8 } from "node:buffer";
import { constants } from "node:fs";
import { type FileHandle, open, readdir, readFile, realpath, stat } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, sep } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { reasonOf } from "../errors.js";
import { codeOf } from "./replace-file.js";

const CHUNK = 65_536;
/** Milliseconds between two looks at a pipe, at most. */
const LONGEST_PAUSE = 20;

/** The bytes of a file or a pipe, as they are read: each piece is overwritten by the next. Fails with the reason of the signal. */
export async function* bytesOfFile(path: string, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
  // A pipe is not waited for in the system's calls: nothing could end them, not even the end of the process.
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const isPipe = (await file.stat()).isFIFO();
    // Into one buffer: of a large file, buffers that wait to be collected would be a good part of the memory in use.
    const buffer = new Uint8Array(CHUNK);
    for (let isBegun = !isPipe; ; ) {
      signal?.throwIfAborted();
      const length = await readSoon(file, buffer, isBegun, signal);
      if (length === 0) return;
      isBegun = true;
      yield buffer.subarray(0, length);
    }
  } finally {
    await file.close();
  }
}

// A pipe without a writer looks like one at its end: it is waited for where nobody wrote yet.
async function readSoon(file: FileHandle, buffer: Uint8Array, isBegun: boolean, signal?: AbortSignal): Promise<number> {
  for (let pause = 1; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
    const length = await readNow(file, buffer);
    if (length !== null && (length > 0 || isBegun)) return length;
    await sleep(pause, undefined, { signal });
  }
}

// Null where there is nothing yet.
async function readNow(file: FileHandle, buffer: Uint8Array): Promise<number | null> {
  try {
    return (await file.read(buffer, 0, buffer.length)).bytesRead;
  } catch (error) {
    if (codeOf(error) === "EAGAIN") return null;
    throw error;
  }
}

/** The result of reading a file or a folder; null where that is not there, or not any more. */
export async function ifThere<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  }
}

/** Why nothing can be written at a path: in words about that path, also where a file beside it was tried. */
export function whyNotWritten(path: string, error: unknown): string {
  const folder = /[/\\]$/.test(path) ? path : dirname(path);
  switch (codeOf(error)) {
    case "ENOENT":
      return `there is no folder "${folder}"`;
    case "ENOTDIR":
      return `"${folder}" is no folder`;
    case "EISDIR":
      return "it is a folder";
    case "EACCES":
      return `you may not write in "${folder}"`;
    default:
      // `ENOSPC: no space left on device, write` without the call.
      return reasonOf(error).split(",")[0] ?? "";
  }
}

/** The real path; null when it is not there, or lies outside all `roots`, which are real. */
export async function within(path: string, ...roots: readonly string[]): Promise<string | null> {
  const real = await findRealPath(path);
  return real !== null && roots.some((root) => isInside(real, root)) ? real : null;
}

function isInside(path: string, root: string): boolean {
  const inside = relative(root, path);
  return inside !== ".." && !inside.startsWith(`..${sep}`) && !isAbsolute(inside);
}

/** The path free of links; null when nothing is there. */
export async function findRealPath(path: string): Promise<string | null> {
  try {
    return await realpath(path);
  } catch (error) {
    if (ABSENT.has((error as NodeJS.ErrnoException).code ?? "")) return null;
    throw error;
  }
}

const ABSENT = new Set(["ENOENT", "ENOTDIR", "ELOOP", "ENAMETOOLONG"]);

/** The largest file that is loaded, in bytes. */
const MAX_FILE_BYTES = 1_000_000;

/** A text file of at most 1 MB; null for anything else, and for no path. */
export async function readText(path: string | null): Promise<string | null> {
  if (path === null) return null;
  const file = await stat(path);
  if (!file.isFile() || file.size > MAX_FILE_BYTES) return null;
  const bytes = await readFile(path);
  return isUtf8(bytes) && !bytes.includes(0) ? new TextDecoder().decode(bytes) : null;
}

/** The files below a folder but for hidden ones, sorted, with `/`. */
export async function listFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep))
    .filter((path) => !path.some(isHidden))
    .map((path) => path.join("/"))
    .sort();
}

/** True for a hidden name, "." and ".." among them, and for what cannot be in a path. */
export function isHidden(name: string): boolean {
  return name.startsWith(".") || name.includes("\0") || name === "";
}
