import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe } from "vitest";
import { type SqliteClient, sqlite } from "../../../packages/store/src/sqlite.js";
import { describeStore, OF_CLIENTS } from "../../describe-store.js";
import { openDatabase } from "../../store/databases.js";
import { failingClient, fileTarget } from "../../store/file-target.js";

const folder = mkdtempSync(join(tmpdir(), "stemma-"));

afterAll(() => rmSync(folder, { recursive: true, force: true }));

// Another module, of which no more is known than `sqlite()` asks for.
const minimal = (path: string): SqliteClient => {
  const database = openDatabase(path);
  return {
    prepare: (sql) => {
      const statement = database.prepare(sql);
      return { all: (...values) => statement.all(...values), run: (...values) => statement.run(...values) };
    },
    close: () => database.close(),
  };
};

describeStore(
  "sqlite-clients",
  fileTarget("SQLite client of the least shape", folder, minimal, (path, before = () => {}, search) =>
    sqlite(failingClient(minimal(path), before), { search }),
  ),
  { differsIn: OF_CLIENTS },
);

const DatabaseSync = findNodeSqlite();
describe.skipIf(DatabaseSync === null)(DatabaseSync ? "node:sqlite" : "node:sqlite (it is not in this Node)", () => {
  const open = (path: string): SqliteClient => {
    const database = new (DatabaseSync as NonNullable<typeof DatabaseSync>)(path);
    database.exec("PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF");
    return database;
  };
  describeStore(
    "sqlite-clients",
    fileTarget("node:sqlite", folder, open, (path, before = () => {}, search) =>
      sqlite(failingClient(open(path), before), { search }),
    ),
  );
});

function findNodeSqlite(): (new (path: string) => SqliteClient & { exec(sql: string): void }) | null {
  try {
    return createRequire(import.meta.url)("node:sqlite").DatabaseSync;
  } catch {
    return null;
  }
}
