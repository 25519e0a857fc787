// A redact that changes nothing changes nothing else either. Every case of the suite once more, so it runs when it is asked for.
import { afterAll, beforeAll, describe } from "vitest";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import { ALL, describeStore } from "../../describe-store.js";
import { type OpenDatabase, openPool } from "../../postgres/databases.js";
import { describeServer } from "../../postgres/server.js";
import { postgresTarget } from "../../postgres/target.js";

describeServer("a server", (server) => {
  describe.skipIf(!ALL)("with a redact that changes nothing (STEMMA_CONFORMANCE=all)", () => suite(server));
});

function suite(server: Parameters<Parameters<typeof describeServer>[1]>[0]): void {
  let database: OpenDatabase;
  beforeAll(() => {
    database = openPool(server.url);
  });
  afterAll(() => database?.close());
  describeStore(
    "postgres",
    postgresTarget("Postgres, with a redact that changes nothing", () => database, {
      openStore: (source, schema, search) => postgres(source, { schema, search, redact: (text) => text }),
    }),
    { concurrent: true },
  );
}
