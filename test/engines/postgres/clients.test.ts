import { afterAll, beforeAll, describe } from "vitest";
import { type PostgresSource, postgres } from "../../../packages/postgres/src/postgres.js";
import type { SearchSettings } from "../../../packages/store/src/contract/found.js";
import { describeStore, OF_CLIENTS } from "../../describe-store.js";
import { type OpenDatabase, openClient, openPool, openPostgresJs, openWrapped } from "../../postgres/databases.js";
import { describeServer } from "../../postgres/server.js";
import { postgresTarget } from "../../postgres/target.js";

/** Where connections of one client differ. */
const OF_CONNECTIONS = ["messages", "concurrency", "order", "isolation", "faults", "embeddings", "records"];

describeServer("a server", (server) => {
  // Only postgres.js has a connection for each of several cases.
  for (const [name, open, differsIn, options] of [
    ["postgres.js", openPostgresJs, OF_CLIENTS, {}],
    ["a connection with execute(text, values)", openWrapped("execute"), OF_CLIENTS, {}],
    // Through the same code as the one before, and as the pool.
    ["a connection with query(text, values)", openWrapped("query"), ["messages", "concurrency", "records"], {}],
    ["one connection of pg", openClient, OF_CONNECTIONS, {}],
    ["a pool of pg with prepared statements", openPool, OF_CONNECTIONS, { prepare: true }],
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
