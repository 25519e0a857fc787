// The conformance suite on `bun:sqlite`, run by `node scripts/runtimes.mjs`.
import { Database } from "bun:sqlite";
import { afterAll, describe, it } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeStore } from "../../packages/stemma/src/testing.js";
import { memory } from "../../packages/store/src/memory.js";
import { sqlite } from "../../packages/store/src/sqlite.js";
import { failingClient, fileTarget } from "../store/file-target.ts";

const folder = mkdtempSync(join(tmpdir(), "stemma-bun-"));

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function openDatabase(path) {
  const database = new Database(path);
  database.run("PRAGMA journal_mode = WAL");
  database.run("PRAGMA synchronous = OFF");
  return database;
}

describeStore(
  fileTarget("SQLite on Bun", folder, openDatabase, (path, before) =>
    before === undefined ? sqlite(path) : sqlite(failingClient(openDatabase(path), before)),
  ),
  { describe, it },
);

describeStore({ name: "memory on Bun", open: memory, capabilities: { durable: false } }, { describe, it });
