import { afterAll, beforeAll, describe } from "vitest";
import { type PostgresSource, postgres } from "../../../packages/postgres/src/postgres.js";
import type { SearchSettings } from "../../../packages/store/src/contract/found.js";
import { describeStore, OF_CLIENTS } from "../../describe-store.js";
import { type OpenDatabase, openClient, openPool, openPostgresJs, openWrapped } from "../../postgres/databases.js";
import { describeServer } from "../../postgres/server.js";
import { postgresTarget } from "../../postgres/target.js";

/** Where connections of one client differ: in how a transaction begins and ends, or in what form values go. */
const OF_TRANSACTIONS = ["concurrency", "order", "isolation", "faults"];
const OF_VALUES = ["messages", "embeddings", "records"];

describeServer("a server", (server) => {
  // Only postgres.js has a connection for each of several cases.
  for (const [name, open, differsIn, options] of [
    ["postgres.js", openPostgresJs, OF_CLIENTS, {}],
    ["a connection with execute(text, values)", openWrapped("execute"), OF_CLIENTS, {}],
    // Through the same code as the one before, and as the pool.
    ["a connection with query(text, values)", openWrapped("query"), OF_VALUES, {}],
    ["one connection of pg", openClient, OF_TRANSACTIONS, {}],
    ["a pool of pg with prepared statements", openPool, OF_VALUES, { prepare: true }],
  ] as const) {
    describe(name, () => {
      let database: OpenDatabase;
      beforeAll(async () => {
        database = await open(server.url);
      });
      afterAll(() => database?.close());
      const openStore = (source: PostgresSource, schema: string, search?: SearchSettings) =>
        postgres(source, { schema, search, ...options });
      describeStore(
        "postgres-clients",
        postgresTarget(name, () => database, { openStore }),
        { differsIn, concurrent: open === openPostgresJs || open === openPool },
      );
    });
  }
});
