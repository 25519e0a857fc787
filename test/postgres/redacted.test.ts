// A redact that changes nothing changes nothing else either.
import { afterAll, beforeAll } from "vitest";
import { postgres } from "../../src/postgres.js";
import { describeStore } from "../describe-store.js";
import { type OpenDatabase, openPool } from "./databases.js";
import { describeServer } from "./server.js";
import { postgresTarget } from "./target.js";

describeServer("a server", (server) => {
  let database: OpenDatabase;
  beforeAll(() => {
    database = openPool(server.url);
  });
  afterAll(() => database?.close());
  describeStore(
    "postgres",
    postgresTarget("Postgres, with a redact that changes nothing", () => database, {
      openStore: (source, schema) => postgres(source, { schema, redact: (text) => text }),
    }),
    { concurrent: true },
  );
});
