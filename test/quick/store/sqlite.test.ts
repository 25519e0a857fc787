import { copyFileSync, existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import type { SearchSettings } from "../../../packages/store/src/contract/search-settings.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { describeStore } from "../../describe-store.js";
import { makeFastFolder } from "../../helpers/fast-folder.js";
import { openDatabase } from "../../store/databases.js";
import { failingClient, fileTarget } from "../../store/file-target.js";

const folder = makeFastFolder();
const migrated = join(folder, "migrated.db");

beforeAll(async () => {
  const store = sqlite(migrated);
  await store.migrate();
  await store.close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const open = (path: string, before?: (statement: string) => void, search?: SearchSettings) =>
  before === undefined
    ? // Not `full`: no power is cut here, and the disk of a test machine is slow.
      sqlite(path, { synchronous: "normal", search })
    : sqlite(failingClient(openDatabase(path), before));

describeStore(
  "sqlite",
  fileTarget("SQLite", folder, openDatabase, (path, before, search) => {
    // To make the tables takes longer than most cases do.
    if (!existsSync(path)) copyFileSync(migrated, path);
    return open(path, before, search);
  }),
);

describeStore("sqlite", fileTarget("SQLite, on new files", folder, openDatabase, open), { topics: ["migrations"] });
