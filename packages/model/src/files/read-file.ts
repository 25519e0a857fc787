import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";
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
