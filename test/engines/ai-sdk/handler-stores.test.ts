import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { describeHandler } from "../../ai-sdk/handler-suite.js";
import { type OpenDatabase, openPool } from "../../postgres/databases.js";
import { describeServer } from "../../postgres/server.js";

const folder = mkdtempSync(join(tmpdir(), "stemma-handler-"));
const file = sqlite(join(folder, "chats.db"));
afterAll(async () => {
  await file.close();
  rmSync(folder, { recursive: true, force: true });
});

describeHandler("a SQLite file", () => file, { describe, it, expect });

describeServer("on a server", (server) => {
  let database: OpenDatabase;
  beforeAll(() => {
    database = openPool(server.url);
  });
  afterAll(() => database?.close());
  describeHandler("a pool of Postgres", () => postgres(database.source), { describe, it, expect });
});
