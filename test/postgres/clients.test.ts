import { afterAll, beforeAll, describe } from "vitest";
import { describeStore } from "../describe-store.js";
import { type OpenDatabase, openClient, openPostgresJs, openWrapped } from "./databases.js";
import { describeServer } from "./server.js";
import { postgresTarget } from "./target.js";

describeServer("a server", (server) => {
  for (const [name, open] of [
    ["one connection of pg", openClient],
    ["postgres.js", openPostgresJs],
    ["a connection with execute(text, values)", openWrapped("execute")],
    ["a connection with query(text, values)", openWrapped("query")],
  ] as const) {
    describe(name, () => {
      let database: OpenDatabase;
      beforeAll(async () => {
        database = await open(server.url);
      });
      afterAll(() => database?.close(), 60_000);
      describeStore(
        "postgres-clients",
        postgresTarget(name, () => database),
      );
    });
  }
});
