import { rmSync } from "node:fs";
import Database from "libsql";
import { afterAll } from "vitest";
import { type SqliteClient, sqlite } from "../../../packages/store/src/sqlite.js";
import { describeStore, OF_CLIENTS } from "../../describe-store.js";
import { makeFastFolder } from "../../helpers/fast-folder.js";
import { failingClient, fileTarget } from "../../store/file-target.js";

const folder = makeFastFolder();

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function open(path: string): SqliteClient {
  const database = new Database(path);
  database.pragma("journal_mode = WAL");
  database.pragma("synchronous = OFF");
  return database;
}

describeStore(
  "libsql",
  fileTarget("libSQL", folder, open, (path, before = () => {}, search) =>
    sqlite(failingClient(open(path), before), { search }),
  ),
  { differsIn: OF_CLIENTS },
);
