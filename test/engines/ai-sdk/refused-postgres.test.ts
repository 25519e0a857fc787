import { afterAll, beforeAll } from "vitest";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { describeRefused } from "../../ai-sdk/describe-refused.js";
import { type OpenDatabase, openPool } from "../../postgres/databases.js";
import { describeServer } from "../../postgres/server.js";

describeServer("on a server", (server) => {
  let database: OpenDatabase;
  let opened: Store;
  beforeAll(async () => {
    database = openPool(await server.createDatabase());
    opened = postgres(database.source);
  });
  afterAll(async () => {
    await opened?.close();
    await database?.close();
  });
  describeRefused("Postgres", () => opened);
});
