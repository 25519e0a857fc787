import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe } from "vitest";
import { postgres } from "../../packages/postgres/src/postgres.js";
import type { Store } from "../../packages/store/src/contract/store.js";
import { sqlite } from "../../packages/store/src/sqlite.js";
import { type OpenDatabase, openPool } from "../postgres/databases.js";
import { describeServer } from "../postgres/server.js";

/** Registers the tests of `body` on a SQLite file and on Postgres. */
export function describeStores(what: string, body: (store: () => Store) => void): void {
  describe(`${what} on SQLite`, () => {
    const folder = mkdtempSync(join(tmpdir(), "stemma-adapters-"));
    const store = sqlite(join(folder, "chats.db"));
    afterAll(async () => {
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    });
    body(() => store);
  });
  describeServer(`${what} on Postgres`, (server) => {
    let database: OpenDatabase;
    let store: Store;
    beforeAll(() => {
      database = openPool(server.url);
      store = postgres(database.source);
    });
    afterAll(() => database?.close());
    body(() => store);
  });
}

/** Session ids that no other test of the file has. */
export function newSessionIds(): () => string {
  let count = 0;
  return () => {
    count += 1;
    return `session ${count}`;
  };
}
