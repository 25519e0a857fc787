// Clocks that go back, texts that pretend, and 10,000 facts of one subject.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import { durableObject } from "../../../packages/store/src/durable-object.js";
import { memory } from "../../../packages/store/src/memory.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { ALL } from "../../describe-store.js";
import { objectContext } from "../../documents/host.js";
import { describeBadInput, describeManyFacts } from "../../learning/describe-bad-input.js";
import { describeServer } from "../../postgres/server.js";

const folder = mkdtempSync(join(tmpdir(), "stemma-facts-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describeBadInput("bad input of facts in a Durable Object", () => durableObject(objectContext()));
describeServer("facts on Postgres", (server) => {
  describeBadInput("bad input of facts on Postgres", async () => postgres(await server.createDatabase()));
  // A server is sent each statement by itself.
  describeManyFacts("Postgres", async () => postgres(await server.createDatabase()), ALL ? 10_000 : 4_000);
});
describeManyFacts("memory", () => memory());
describeManyFacts("SQLite", () => sqlite(join(folder, "many.db")));
describeManyFacts("a Durable Object", () => durableObject(objectContext()));
