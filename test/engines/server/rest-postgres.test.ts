import pg from "pg";
import { beforeAll } from "vitest";
import { openWith } from "../../../packages/server/test/quick/rest-helpers.js";
import { postgres } from "../../../packages/stemma/src/postgres.js";
import { describeServer } from "../../postgres/server.js";

describeServer("REST on Postgres", async (server) => {
  let pool: pg.Pool;
  let schemas = 0;
  beforeAll(() => {
    pool = new pg.Pool({ connectionString: server.url, max: 10 });
    openWith(() => postgres(pool, { schema: `s${++schemas}` }));
    return () => pool.end();
  });
  await import("../../server/rest-suite.js");
});
