import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { memory } from "../../../packages/store/src/memory.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { type OpenDatabase, openPool } from "../../postgres/databases.js";
import { describeServer } from "../../postgres/server.js";
import { postgresTarget } from "../../postgres/target.js";
import { describeTrips } from "../../trips/describe-trips.js";
import { newFolder } from "../../trips/trips.js";

const folder = newFolder();
let count = 0;

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describeServer("boundary values", (server) => {
  let database: OpenDatabase;
  beforeAll(() => {
    database = openPool(server.url);
  });
  afterAll(() => database?.close());
  const target = postgresTarget("Postgres", () => database);
  describeTrips(
    { memory, SQLite: () => sqlite(join(folder, `${++count}.db`)), Postgres: () => target.open() },
    { values: 100, stores: 1, each: 15 },
  );
});
