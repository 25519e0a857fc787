import { afterAll, beforeAll, describe, it } from "vitest";
import { describeStore } from "../../src/testing.js";
import { type OpenDatabase, openClient, openPostgresJs } from "./databases.js";
import { ENGINE, reasonToSkip, type Server, startServer } from "./engines.js";
import { postgresTarget } from "./target.js";

const reason = reasonToSkip(ENGINE);

describe.skipIf(reason !== null)(reason ?? ENGINE.name, () => {
  let server: Server;
  beforeAll(async () => {
    server = await startServer(ENGINE);
  }, 60_000);
  afterAll(() => server?.stop(), 60_000);

  for (const [name, open] of [
    ["one connection of pg", openClient],
    ["postgres.js", openPostgresJs],
  ] as const) {
    describe(name, () => {
      let database: OpenDatabase;
      beforeAll(async () => {
        database = await open(server.url);
      });
      afterAll(() => database?.close(), 60_000);
      describeStore(
        postgresTarget(name, () => database),
        { describe, it },
      );
    });
  }
});
