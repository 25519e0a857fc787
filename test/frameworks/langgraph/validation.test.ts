import { deltaChannelHistoryTests, validate } from "@langchain/langgraph-checkpoint-validation";
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, test } from "vitest";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import type { Store } from "../../../packages/stemma/src/index.js";
import { StemmaSaver } from "../../../packages/stemma/src/langgraph.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { describeServer } from "../../postgres/server.js";
import { openDatabase } from "../../store/databases.js";

// The suite takes them from the global object, which other files share.
const globals = { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, test };
Object.assign(globalThis, globals);
afterAll(() => Object.keys(globals).forEach((name) => void Reflect.deleteProperty(globalThis, name)));

/** Runs LangGraph's own suite. Each of its checkpointers is a user's, so none sees the threads of another. */
function describeSaver(name: string, store: () => Store): void {
  let users = 0;
  const ofUser = new WeakMap<StemmaSaver, Store>();
  const initializer = {
    checkpointerName: name,
    createCheckpointer() {
      users += 1;
      const own = store().forUser(`user-${users}`);
      const saver = new StemmaSaver(own);
      ofUser.set(saver, own);
      return saver;
    },
    // The suite names some threads the same each time.
    async destroyCheckpointer(saver: StemmaSaver) {
      const own = ofUser.get(saver) as Store;
      for (const { id } of (await own.sessions.list({})).sessions) await own.sessions.delete(id);
    },
  };
  validate(initializer);
  deltaChannelHistoryTests(initializer);
}

describe("SQLite", () => {
  let store: Store;
  beforeAll(() => {
    store = sqlite(openDatabase());
  });
  afterAll(() => store.close());
  describeSaver("StemmaSaver on SQLite", () => store);
});

describeServer("Postgres", (server) => {
  let pool: pg.Pool;
  let store: Store;
  beforeAll(() => {
    pool = new pg.Pool({ connectionString: server.url });
    store = postgres(pool);
  });
  afterAll(() => pool.end());
  describeSaver("StemmaSaver on Postgres", () => store);
});
