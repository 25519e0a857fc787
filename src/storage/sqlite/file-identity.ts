import { lstatSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { SqliteClient } from "./client.js";
import { storeReplaced } from "./error.js";
import { type Identity, identityOf, isStill, watchFolder } from "./files-in-place.js";

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
