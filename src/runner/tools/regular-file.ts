import type { Stats } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { invalid, type StemmaError } from "../../errors.js";
import { codeOf, files } from "../../files/replace-file.js";

/** What is written: a file that is there, or one whether it is there or not; then its directories are made. */
export type Purpose = "write" | "create";

/** What the file that stands there gives to the one that replaces it; nothing for a new one. Errors: `INVALID_ARGUMENT`. */
export async function attributesOf(
  file: string,
  path: string,
  how: Purpose,
): Promise<{ mode?: number; owner?: Stats }> {
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
export async function openRegular(absolute: string, path: string, access: "read" | "write"): Promise<FileHandle> {
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
export async function locationOf(file: FileHandle, path: string): Promise<string | null> {
  const { lstat, readlink, realpath } = await files();
  // Linux says it of the open file itself.
  const told = await readlink(`/proc/self/fd/${file.fd}`).catch(() => null);
  if (told !== null) return told;
  const [opened, found] = await Promise.all([file.stat(), lstat(path)]);
  return opened.ino === found.ino && opened.dev === found.dev ? realpath(path) : null;
}

/** The error for a path that is no file to work with. */
export function notAFile(path: string, why: string, cause?: unknown): StemmaError {
  return invalid(`${path} ${why}.`, { path }, { cause });
}
