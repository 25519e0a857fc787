import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { type PostgresOptions, postgres, schemaSql } from "../../../packages/postgres/src/postgres.js";
import { SessionManager } from "../../../packages/stemma/src/session.js";
import { hashingEmbedder } from "../../../packages/stemma/src/testing.js";
import type { EmbeddableStore } from "../../../packages/store/src/embeddings/contract.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { upgradePostgres, upgradeSqlite } from "../../../scripts/to-first-release.mjs";
import { textMessage } from "../../helpers/messages.js";
import { DEFINITIONS } from "../../postgres/definitions.js";
import { describeServer } from "../../postgres/server.js";

const fixture = (name: string) =>
  gunzipSync(readFileSync(join(import.meta.dirname, `../../fixtures/before-release.${name}.gz`)));

const REFUSAL = { code: "MIGRATION_REQUIRED", message: expect.stringContaining("scripts/to-first-release.mjs") };

const embedder = () => hashingEmbedder({ dimensions: 8 });

/** All that it held is there, but for the vectors, which are made anew; and it goes on. */
async function expectEverything(store: EmbeddableStore): Promise<void> {
  const { embeddings } = store.withEmbedder(embedder());
  await embeddings.flush();
  const manager = SessionManager.create(store);
  const find = async (query: string) =>
    (await manager.search(query)).map(({ sessionId, id }) => `${sessionId} ${id}`).sort();
  expect(await store.check?.()).toMatchObject({ ok: true, problems: [] });
  const words = manager.getSession("words");
  expect((await words.getHistory()).map(({ id }) => id)).toEqual([
    "1",
    expect.stringMatching(/^compaction_/),
    "5",
    "6",
    "7",
  ]);
  expect((await store.sessions.list({ orderBy: "registered" })).sessions.map(({ id }) => id)).toEqual([
    "other",
    "words",
  ]);
  expect(await store.sessions.get("words")).toMatchObject({ metadata: { topic: "words" }, input_tokens: 3 });
  expect((await store.forUser("ada").sessions.list({})).sessions.map(({ id }) => id)).toEqual(["other"]);
  expect((await store.records.get({ sessionId: "words", label: "runs" }, "run"))?.value).toHaveLength(5);
  const facts = await store.entries.search({ sessionId: "words", label: "facts" }, "deploy", { limit: 5 });
  expect(facts.map(({ content }) => content)).toEqual(["Two deployments failed."]);
  expect(await find("deployment")).toEqual(["words 1", "words 8"]);
  await words.appendMessage(textMessage("new", "Deployed anew."));
  await manager.append("third", textMessage("1", "Deploy a third time."));
  await embeddings.flush();
  expect(await find("deployment")).toEqual(["third 1", "words 1", "words 8", "words new"]);
  expect((await store.sessions.list({ orderBy: "registered" })).sessions.map(({ id }) => id)).toEqual([
    "third",
    "other",
    "words",
  ]);
  expect(await store.check?.()).toMatchObject({ ok: true, problems: [] });
  await store.close();
}

describe("a file of SQLite from before 0.1.0", () => {
  it("is refused, with what to do", async () => {
    const database = new Database(fixture("sqlite"));
    const before = database.serialize();
    await expect(sqlite(database).migrate()).rejects.toMatchObject(REFUSAL);
    expect(database.serialize().equals(before)).toBe(true);
  });

  it("has the present tables behind the script, and all that it held", async () => {
    const [database, fresh] = [new Database(fixture("sqlite")), new Database(":memory:")];
    database.exec(
      "INSERT INTO cf_agents_search_entries (label, key, content, created_at, updated_at) VALUES ('x', 'x', '', '', '')",
    );
    database.exec("DELETE FROM cf_agents_search_entries WHERE label = 'x'");
    await sqlite(fresh).migrate();
    upgradeSqlite(database, fresh);
    expect(() => upgradeSqlite(database, fresh)).toThrow("version 1.");
    for (const each of [fresh, database]) await sqlite(each).withEmbedder(embedder()).embeddings.flush();
    const definitions = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name";
    expect(database.prepare(definitions).all()).toEqual(fresh.prepare(definitions).all());
    const number = "SELECT seq FROM sqlite_sequence WHERE name = 'cf_agents_search_entries'";
    expect(database.prepare(number).get()).toEqual({ seq: 3 });
    await expectEverything(sqlite(database));
  });
});

describeServer("a database of Postgres from before 0.1.0", (server) => {
  const definitions = async (url: string) =>
    (await server.query(url, DEFINITIONS)).map(({ line }) => String(line)).sort();

  it("is refused, with what to do", async () => {
    const url = await server.createDatabase();
    await server.query(url, fixture("postgres.sql").toString());
    const store = postgres(url);
    await expect(store.migrate()).rejects.toMatchObject(REFUSAL);
    await store.close();
  });

  it.each<[title: string, options: PostgresOptions]>([
    ["in the search path", {}],
    ["in a schema", { schema: 'the "old" one' }],
  ])("has the present tables %s behind the script, and all that it held", async (_, options) => {
    const [url, fresh] = [await server.createDatabase(), await server.createDatabase()];
    await server.query(url, fixture("postgres.sql").toString());
    if (options.schema !== undefined)
      await server.query(url, 'ALTER SCHEMA public RENAME TO "the ""old"" one"; CREATE SCHEMA public');
    const script = upgradePostgres(schemaSql({ ...options, embeddings: true }), options.schema);
    await server.query(url, script);
    await expect(server.query(url, script)).rejects.toThrow("version 1.");
    await expectEverything(postgres(url, options));
    await server.query(fresh, schemaSql({ embeddings: true }));
    if (options.schema === undefined) expect(await definitions(url)).toEqual(await definitions(fresh));
  });
});
