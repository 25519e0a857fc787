import { afterAll, beforeAll, describe, it } from "vitest";
import { describeStore } from "../../src/testing.js";
import { type OpenDatabase, openPool } from "./databases.js";
import { ENGINES } from "./engines.js";
import { describeServer } from "./server.js";
import { postgresTarget } from "./target.js";

for (const engine of ENGINES) {
  describeServer(
    engine.name,
    (server) => {
      let database: OpenDatabase;
      beforeAll(() => {
        database = openPool(server.url);
      });
      afterAll(() => database?.close(), 60_000);
      describeStore(
        postgresTarget(engine.name, () => database),
        { describe, it },
      );
    },
    engine,
  );
}
