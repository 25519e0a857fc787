import { existsSync } from "node:fs";
import { OLD_PREFIX, OLD_TABLES } from "../operations/upgrade/old-tables.js";
import { type OpenedFile, openWith } from "./open-sqlite.js";

const OWN = new Set(["assistant_schema", ...OLD_TABLES.flatMap(({ name }) => [name, `${OLD_PREFIX}${name}`])]);

/**
 * True for a SQLite file that holds something, but no table of ours, and none that `agents` wrote. Nothing is written to the file.
 * False also where it cannot be read: whoever opens it tells why.
 */
export function isForeign(path: string, key?: string): boolean {
  let client: OpenedFile | undefined;
  try {
    // What was written last stands beside the file, and who may write would bring it in with the end. Where nothing does, who may
    // only read would leave files there.
    client = openWith(path, { isReadOnly: existsSync(`${path}-wal`), key });
    const found = client.prepare("SELECT lower(name) AS name FROM sqlite_master").all() as { name: string }[];
    return found.length > 0 && !found.some(({ name }) => OWN.has(name));
  } catch {
    return false;
  } finally {
    client?.close();
  }
}
