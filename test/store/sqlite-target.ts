import { copyFileSync, existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { sqlite } from "../../packages/store/src/sqlite.js";
import { makeFastFolder } from "../helpers/fast-folder.js";
import { openDatabase } from "./databases.js";
import { failingClient, fileTarget } from "./file-target.js";

/** SQLite files as the suite opens them, which are removed after the tests of the file: `isNew` for files without the tables. */
export function sqliteTarget(name: string, { isNew = false } = {}) {
  const folder = makeFastFolder();
  const migrated = join(folder, "migrated.db");
  beforeAll(async () => {
    const store = sqlite(migrated);
    await store.migrate();
    await store.close();
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return fileTarget(name, folder, openDatabase, (path, before, search) => {
    // To make the tables takes longer than most cases do.
    if (!isNew && !existsSync(path)) copyFileSync(migrated, path);
    return before === undefined
      ? // Not `full`: no power is cut here, and the disk of a test machine is slow.
        sqlite(path, { synchronous: "normal", search })
      : sqlite(failingClient(openDatabase(path), before));
  });
}
