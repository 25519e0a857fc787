import { type BigIntStats, statSync } from "node:fs";
import { type SqliteClient, storeReplaced } from "./client.js";

/** Throws `STORE_REPLACED` when the files that a connection writes to are no longer those at their path. */
export type FileCheck = () => void;

/**
 * Remembers which file an open database is. Renaming another one over it, or deleting it, leaves the connection with a
 * file that nobody finds again, and SQLite does not notice. Null for a database without a file that can be seen.
 */
export function watchFile(client: SqliteClient): FileCheck | null {
  const path = pathOf(client);
  const file = path === null ? undefined : identityOf(path);
  if (path === null || file === undefined) return null;
  const log = `${path}-wal`;
  // There from the first write on, where the database keeps a write-ahead log, until its last connection is closed.
  let knownLog: string | undefined;
  let isReplaced = false;
  return () => {
    const currentLog = identityOf(log);
    isReplaced ||= identityOf(path) !== file || (currentLog !== knownLog && knownLog !== undefined && keepsLog(client));
    if (isReplaced) throw storeReplaced();
    knownLog = currentLog;
  };
}

interface DatabaseRow {
  readonly name: string;
  readonly file: string | null;
}

function pathOf(client: SqliteClient): string | null {
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

// Numbers of inodes go beyond what a double holds.
function identityOf(path: string): string | undefined {
  const stats: BigIntStats | undefined = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? undefined : `${stats.dev}:${stats.ino}`;
}
