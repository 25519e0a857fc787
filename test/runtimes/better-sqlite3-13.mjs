// The conformance suite on version 13 of better-sqlite3, with the packed package and node:test, run by `node scripts/runtimes.mjs`.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import Database from "better-sqlite3";
import { sqlite } from "stemma/sqlite";
import { describeStore } from "stemma/testing";
import { failingClient, fileTarget } from "../store/file-target.ts";

const folder = mkdtempSync(join(tmpdir(), "stemma-sqlite13-"));

after(() => rmSync(folder, { recursive: true, force: true }));

function openDatabase(path) {
  const database = new Database(path);
  database.pragma("journal_mode = WAL");
  database.pragma("synchronous = OFF");
  return database;
}

describeStore(
  fileTarget("better-sqlite3 13", folder, openDatabase, (path, before) =>
    before === undefined ? sqlite(path, { synchronous: "normal" }) : sqlite(failingClient(openDatabase(path), before)),
  ),
  { describe, it },
);
