import { rmSync } from "node:fs";
import { afterAll } from "vitest";
import { sqlite } from "../../src/sqlite.js";
import { describeStore } from "../describe-store.js";
import { makeFastFolder } from "../helpers/fast-folder.js";
import { openDatabase } from "./databases.js";
import { failingClient, fileTarget } from "./file-target.js";

const folder = makeFastFolder();

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describeStore(
  "sqlite",
  fileTarget("SQLite", folder, openDatabase, (path, before) =>
    before === undefined
      ? // Not `full`: no power is cut here, and the disk of a test machine is slow.
        sqlite(path, { synchronous: "normal" })
      : sqlite(failingClient(openDatabase(path), before)),
  ),
);
