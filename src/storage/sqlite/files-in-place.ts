import { type Stats, statSync } from "node:fs";

/** What a file is, whatever it is called. */
export interface Identity {
  readonly device: bigint;
  readonly inode: bigint;
  /** Both, where a double holds them exactly. Asking for such ones takes half as long, and every write asks. */
  readonly exact: { readonly device: number; readonly inode: number } | null;
}

/** Null where there is no such file. */
export function identityOf(path: string): Identity | null {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  if (stats === undefined) return null;
  const { dev: device, ino: inode } = stats;
  const isExact = device < Number.MAX_SAFE_INTEGER && inode < Number.MAX_SAFE_INTEGER;
  return { device, inode, exact: isExact ? { device: Number(device), inode: Number(inode) } : null };
}

/** True where a path leads to the same file as before. */
export function isStill(path: string, { device, inode, exact }: Identity): boolean {
  if (exact === null) {
    const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
    return stats?.ino === inode && stats.dev === device;
  }
  // A number beyond what a double holds is never rounded to one that it holds exactly.
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats?.ino === exact.inode && stats.dev === exact.device;
}

/** A change of a folder so long ago, in milliseconds, has another time than one that comes now, however coarse the clock of a file system is. */
const SETTLED = 3000;

/**
 * Calls `assertFiles`, which throws unless the files of a folder are those that they were, whenever they may be others. No file
 * is replaced, removed or moved without a change of its folder. So one look at a folder that did not change stands for a look at
 * each of its files.
 */
export function watchFolder(folder: string, assertFiles: () => void): () => void {
  // On Windows it is not documented which changes change the time of a folder.
  if (process.platform === "win32") return assertFiles;
  let known: Stats | null = null;
  let lookAgainAt = 0;
  return () => {
    const now = Date.now();
    if (known === null && now < lookAgainAt) return assertFiles();
    const seen = statSync(folder, { throwIfNoEntry: false }) ?? null;
    if (known !== null && seen !== null && isSame(seen, known)) return;
    assertFiles();
    known = seen !== null && now - seen.ctimeMs > SETTLED ? seen : null;
    lookAgainAt = now + SETTLED;
  };
}

// Nobody can set the time of the latest change back, as programs do with the other times when they restore a backup.
function isSame(a: Stats, b: Stats): boolean {
  return a.ctimeMs === b.ctimeMs && a.ino === b.ino && a.dev === b.dev;
}
