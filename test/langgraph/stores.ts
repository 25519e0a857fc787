import { afterAll, beforeEach, describe } from "vitest";
import { postgres } from "../../packages/postgres/src/postgres.js";
import type { Store } from "../../packages/stemma/src/index.js";
import { sqlite } from "../../packages/store/src/sqlite.js";
import { describeServer } from "../postgres/server.js";
import { openDatabase } from "../store/databases.js";

/** Registers tests on SQLite and on Postgres; each test has a store without sessions, which on Postgres is a new user's. */
export function describeEngines(body: (store: () => Store) => void): void {
  describe("on SQLite", () => {
    let store: Store;
    beforeEach(() => {
      store = sqlite(openDatabase());
      return () => store.close();
    });
    body(() => store);
  });

  describeServer("on Postgres", (server) => {
    let whole: Store | null = null;
    let store: Store;
    let users = 0;
    beforeEach(() => {
      whole ??= postgres(server.url);
      users += 1;
      store = whole.forUser(`user-${users}`);
      return async () => {
        for (const { id } of (await store.sessions.list({})).sessions) await store.sessions.delete(id);
      };
    });
    afterAll(() => whole?.close());
    body(() => store);
  });
}
