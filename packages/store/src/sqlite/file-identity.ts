import { lstatSync, type Stats, statSync } from "node:fs";
import { dirname } from "node:path";
import type { SqliteClient } from "./client.js";
import { storeReplaced } from "./client.js";
/** Throws `STORE_REPLACED` when the files that a connection writes to are no longer those at their path. */
export type FileCheck = () => void;

/**
 * Remembers which file an open database is. Renaming another one over it, or deleting it, leaves the connection with a
 * file that nobody finds again, and SQLite does not notice. Null for a database without a file that can be seen.
 */
export function watchFile(client: SqliteClient): FileCheck | null {
  const path = pathOf(client);
  const file = path === null ? null : identityOf(path);
  if (path === null || file === null) return null;
  const log = `${path}-wal`;
  // There from the first write on, where the database keeps a write-ahead log, until its last connection is closed.
  let knownLog: Identity | null = null;
  let isReplaced = false;
  const assertFiles = () => {
    isReplaced ||= !isStill(path, file);
    if (knownLog !== null && !isStill(log, knownLog)) {
      isReplaced ||= keepsLog(client);
      knownLog = null;
    }
    if (isReplaced) throw storeReplaced();
    knownLog ??= identityOf(log);
  };
  // What a link leads to is in another folder, perhaps.
  return lstatSync(path).isSymbolicLink() ? assertFiles : watchFolder(dirname(path), assertFiles);
}

/** The smallest pages of SQLite, in bytes; all others are multiples of them. */
const PAGE = 512;

/** True for a file of whole pages, as an encrypted one is. It is not opened: that would end the locks of other connections. */
export function mayBeEncrypted(path: string | null): boolean {
  const size = (path === null ? undefined : statSync(path, { throwIfNoEntry: false })?.size) ?? 0;
  return size > 0 && size % PAGE === 0;
}

interface DatabaseRow {
  readonly name: string;
  readonly file: string | null;
}

/** The file of a database, as SQLite names it; null where it has none. */
export function pathOf(client: SqliteClient): string | null {
  try {
    const rows = client.prepare("PRAGMA database_list").all() as DatabaseRow[];
    return rows.find(({ name }) => name === "main")?.file || null;
  } catch {
    // What is wrong with the database, its first use tells.
    return null;
  }
}

function keepsLog(client: SqliteClient): boolean {
  const [row] = client.prepare("PRAGMA journal_mode").all() as { journal_mode: string }[];
  return row?.journal_mode === "wal";
}

interface Identity {
  readonly device: bigint;
  readonly inode: bigint;
  /** Both, where a double holds them exactly. Asking for such ones takes half as long, and every write asks. */
  readonly exact: { readonly device: number; readonly inode: number } | null;
}

/** Null where there is no such file. */
function identityOf(path: string): Identity | null {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  if (stats === undefined) return null;
  const { dev: device, ino: inode } = stats;
  const isExact = device < Number.MAX_SAFE_INTEGER && inode < Number.MAX_SAFE_INTEGER;
  return { device, inode, exact: isExact ? { device: Number(device), inode: Number(inode) } : null };
}

/** True where a path leads to the same file as before. */
function isStill(path: string, { device, inode, exact }: Identity): boolean {
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
