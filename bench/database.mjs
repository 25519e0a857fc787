// The one SQLite that every candidate runs on: the build of the root's node_modules, opened with the same settings.
import { createRequire } from "node:module";

const Database = createRequire(new URL("../package.json", import.meta.url))("better-sqlite3");

export const PRAGMAS = ["journal_mode = WAL", "synchronous = NORMAL"];

export function openDatabase(path) {
  const db = new Database(path);
  for (const pragma of PRAGMAS) db.pragma(pragma);
  return db;
}

export function sqliteVersion() {
  const db = new Database(":memory:");
  const version = db.prepare("SELECT sqlite_version()").pluck().get();
  db.close();
  return version;
}
