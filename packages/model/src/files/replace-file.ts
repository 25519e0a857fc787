import type { BigIntStats } from "node:fs";

// Loaded with the first call, so that what uses this can be imported where there is no file system.
export const files = () => import("node:fs/promises");
export const paths = () => import("node:path");

/** About how many characters are written at once. */
const WRITTEN = 64_000;

export type FileContent = string | AsyncIterable<string>;

export interface FileAttributes {
  /** Default: what the process gives new files. */
  readonly mode?: number | undefined;
  /** Whose the file becomes, where the process may say so. */
  readonly owner?: { readonly uid: number; readonly gid: number } | undefined;
}

/**
 * Replaces a file whole or not at all: readers see the old file or the new one, and a failure leaves the old one. The new
 * one is on the disk when this resolves. A link that stands there is replaced, not followed.
 */
export async function replaceFile(path: string, content: FileContent, attributes: FileAttributes = {}): Promise<void> {
  const [{ rename, rm }, { dirname, join }] = await Promise.all([files(), paths()]);
  const draft = join(dirname(path), `.${crypto.randomUUID()}.tmp`);
  try {
    await writeDraft(draft, content, attributes);
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true }).catch(() => {});
    throw namingPath(error, draft, path);
  }
  await syncDirectoryOf(path);
}

// Nobody knows the draft's name.
function namingPath(error: unknown, draft: string, path: string): unknown {
  if (!(error instanceof Error) || (error as NodeJS.ErrnoException).path !== draft) return error;
  error.message = error.message.replace(`'${draft}' -> `, "").replaceAll(draft, path);
  return Object.assign(error, { path });
}

/** Writes a new file, which is on the disk when this resolves. A failure leaves none. */
export async function writeDraft(
  path: string,
  content: FileContent,
  { mode, owner }: FileAttributes = {},
): Promise<BigIntStats> {
  const { open, rm } = await files();
  const file = await open(path, "wx", mode);
  try {
    // Refused to most: then it is the process's own.
    if (owner !== undefined) await file.chown(owner.uid, owner.gid).catch(() => {});
    if (mode !== undefined) await file.chmod(mode);
    if (typeof content === "string") await file.writeFile(content);
    else for await (const text of gathered(content)) await file.writeFile(text);
    await file.sync();
    const written = await file.stat({ bigint: true });
    await file.close();
    return written;
  } catch (error) {
    await file.close().catch(() => {});
    await rm(path, { force: true });
    throw error;
  }
}

// Each write waits for a turn of the event loop, which is long where the program has other work.
async function* gathered(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let held = "";
  for await (const piece of pieces) {
    held += piece;
    if (held.length < WRITTEN) continue;
    yield held;
    held = "";
  }
  if (held !== "") yield held;
}

/** Writes a change of a directory's names to the disk: without it they may be lost with the power. */
export async function syncDirectoryOf(path: string): Promise<void> {
  const [{ open }, { dirname }] = await Promise.all([files(), paths()]);
  const directory = await open(dirname(path), "r").catch(() => null);
  // Windows cannot, and need not.
  await directory?.sync().catch(() => {});
  await directory?.close();
}

/** The code of a system call's error. */
export function codeOf(error: unknown): unknown {
  return (error as { code?: unknown } | null)?.code;
}
