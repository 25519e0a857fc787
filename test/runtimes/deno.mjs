// Every entry point, and the conformance suite on `node:sqlite`, on Deno with the packed package, run by `node scripts/runtimes.mjs`.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, describe, it } from "node:test";
import { sqlite } from "stemma/sqlite";
import { describeStore } from "stemma/testing";
import { failingClient, fileTarget } from "../store/file-target.ts";

const folder = mkdtempSync(join(tmpdir(), "stemma-deno-"));

after(() => rmSync(folder, { recursive: true, force: true }));

const { exports } = JSON.parse(readFileSync("node_modules/stemma/package.json", "utf8"));

describe("the package on Deno", () => {
  for (const [subpath, target] of Object.entries(exports)) {
    if (typeof target !== "string") it(`loads stemma${subpath.slice(1)}`, () => import(`stemma${subpath.slice(1)}`));
  }
});

function openDatabase(path) {
  const database = new DatabaseSync(path);
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF");
  return database;
}

describeStore(
  fileTarget("node:sqlite on Deno", folder, openDatabase, (path, before) =>
    before === undefined ? sqlite(path, { synchronous: "normal" }) : sqlite(failingClient(openDatabase(path), before)),
  ),
  { describe, it },
);
