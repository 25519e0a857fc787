import { afterAll, beforeAll, describe, it } from "vitest";
import { describeStore } from "../../src/testing.js";
import { type OpenDatabase, openPool } from "./databases.js";
import { ENGINES, reasonToSkip, type Server, startServer } from "./engines.js";
import { postgresTarget } from "./target.js";

for (const engine of ENGINES) {
  const reason = reasonToSkip(engine);
  describe.skipIf(reason !== null)(reason ?? engine.name, () => {
    let server: Server;
    let database: OpenDatabase;
    beforeAll(async () => {
      server = await startServer(engine);
      database = openPool(server.url);
    }, 60_000);
    afterAll(async () => {
      await database?.close();
      await server?.stop();
    }, 60_000);
    describeStore(
      postgresTarget(engine.name, () => database),
      { describe, it },
    );
  });
}
