import type { BigIntStats } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { codeOf, files } from "../../files/replace-file.js";
import { findJsonObject } from "../../model/json-object.js";
import type { FileVersion } from "./file-commit.js";

/** Bytes in which the version and the id of a state stand. */
const HEAD = 512;

/** What the head of a file tells of the state in it. */
export interface Head {
  readonly id: string | null;
  readonly version: string;
}

/** True for the file of this session; not so where a file system does not tell upper from lower case. */
export function isOwn(id: string, head: Head): boolean {
  return head.id === null || head.id === id;
}

/** The number of the version, and the id; the latter only where it stands behind the number. */
export async function readHead(handle: FileHandle): Promise<{ number: number; id: string | null }> {
  const { buffer, bytesRead } = await handle.read(new Uint8Array(HEAD), 0, HEAD, 0);
  return headOf(new TextDecoder().decode(buffer.subarray(0, bytesRead)));
}

/** The same of a text. */
export function headOf(text: string): { number: number; id: string | null } {
  const [, number = "0", id = null] = /^\{\s*"version":\s*(\d+),\s*"id":\s*"([^"\\]*)"/.exec(text) ?? [];
  return { number: Number(number), id };
}

// Another program may write the fields in any order.
async function idWithin(handle: FileHandle, { size }: BigIntStats): Promise<string | null> {
  const { buffer } = await handle.read(new Uint8Array(Number(size)), 0, Number(size), 0);
  const id = findJsonObject(new TextDecoder().decode(buffer))?.id;
  return typeof id === "string" ? id : null;
}

/** The version of a file. The number alone would not show an edit by hand. */
export function versionOf(number: number, { size, mtimeNs, ino }: FileVersion): string {
  return [number, size, mtimeNs, ino].join(".");
}

/** Version and id of the stored session; null for no file. The id is null where another program wrote what is no state. */
export function headIn(path: string): Promise<Head | null> {
  return openState(path, async (handle) => {
    const stats = await handle.stat({ bigint: true });
    const found = await readHead(handle);
    return { id: found.id ?? (await idWithin(handle, stats)), version: versionOf(found.number, stats) };
  }).catch((error: unknown) => {
    // A link may be replaced and removed.
    if (codeOf(error) === "ELOOP") return { id: null, version: "" };
    throw error;
  });
}

/** Runs `work` on an open file; null for no file. */
export async function openState<T>(path: string, work: (handle: FileHandle) => Promise<T>): Promise<T | null> {
  const { constants, open } = await files();
  // A link could lead out of the directory.
  const handle = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0)).catch(ignoreAbsent);
  if (handle === null) return null;
  try {
    return await work(handle);
  } finally {
    await handle.close();
  }
}

/** Null where something is not there. */
export function ignoreAbsent(error: unknown): null {
  if (codeOf(error) === "ENOENT") return null;
  throw error;
}
