// Version 11 on a database that version 10 left: written by this one, and then made what it was.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { postgres, schemaSql } from "../../../packages/postgres/src/postgres.js";
import { POSTGRES_MIGRATIONS } from "../../../packages/postgres/src/tables/migrations/index.js";
import { TABLES } from "../../../packages/postgres/src/tables/names.js";
import { Session } from "../../../packages/stemma/src/session.js";
import { hashingEmbedder } from "../../../packages/stemma/src/testing.js";
import { textMessage } from "../../helpers/messages.js";
import { describeServer } from "../../postgres/server.js";

const UNNAMED = readFileSync(join(import.meta.dirname, "../../fixtures/unnamed-sessions.postgres.sql"), "utf8");

const NUMBERED = readFileSync(join(import.meta.dirname, "../../fixtures/numbered-sessions.postgres.sql"), "utf8");

const ROWS = [...TABLES.filter((name) => name !== "assistant_schema"), "assistant_vectors"];

describeServer("tables whose rows do not name their session", (server) => {
  let url = "";
  beforeEach(async () => {
    url = await server.createDatabase();
  });

  const dump = (): Promise<Record<string, unknown>[]> => {
    const each = ROWS.map((name) => `SELECT '${name}' AS name, to_jsonb(t)::text AS row FROM ${name} t`);
    return server.query(url, `${each.join(" UNION ALL ")} ORDER BY 1, 2`);
  };

  // Branches, a summary, media, entries, versions, records, vectors: of two sessions, the second one a fork.
  async function fill(): Promise<void> {
    const store = postgres(url).withEmbedder(hashingEmbedder());
    const session = Session.create(store).forSession("one").withContext("memory");
    const image = { type: "file", mediaType: "image/png", url: `data:image/png;base64,${"A".repeat(4000)}` };
    await session.appendMessage({ id: "a", role: "user", parts: [{ type: "text", text: "green apples" }, image] });
    await session.appendAll([textMessage("b", "red pears"), textMessage("c", "blue plums")]);
    await session.appendMessage(textMessage("d", "green pears"), "a");
    await session.addCompaction("about fruit", "a", "b");
    await session.replaceContextBlock("memory", "Likes fruit.");
    await store.entries.set({ sessionId: "one", label: "facts" }, { key: "fruit", content: "Bananas are berries." });
    await store.records.set({ sessionId: "one", label: "runs" }, "r", new TextEncoder().encode("bytes"));
    await store.sessions.fork("one", "c", { id: "two", name: "two" });
    await store.embeddings.flush();
    await store.close();
  }

  it.each([
    ["the program", async () => {}],
    ["the printed script", () => server.query(url, schemaSql())],
  ])("get a column and keys that do by %s, and keep what they hold", async (_, prepare) => {
    await fill();
    await server.query(url, NUMBERED);
    await postgres(url).migrate();
    const before = await dump();
    // The run of a program has no entry of usage.
    expect(new Set(before.map(({ name }) => name)).size).toBe(ROWS.length - 1);
    await server.query(url, UNNAMED);
    await prepare();
    const store = postgres(url);
    await store.migrate();
    expect(await dump()).toEqual(before);
    expect((await store.check?.())?.problems).toEqual([]);
    expect((await store.session("one").path()).messages.map(({ id }) => id)).toEqual(["a", "d"]);
    expect((await store.session("two").search("plums", { limit: 5 })).map(({ id }) => id)).toEqual(["c"]);
    await store.sessions.delete("one");
    expect((await dump()).filter(({ row }) => String(row).includes('"one"') && !String(row).includes('"two"'))).toEqual(
      [],
    );
    await store.close();
    const version = "SELECT version, vectors FROM assistant_schema";
    expect(await server.query(url, version)).toEqual([{ version: POSTGRES_MIGRATIONS.length, vectors: 3 }]);
  });

  it("name the session of its messages where the registry lost it, and a check brings that back", async () => {
    await fill();
    await server.query(url, NUMBERED);
    await server.query(url, UNNAMED);
    await server.query(
      url,
      `DELETE FROM assistant_sessions WHERE id = 'one'; INSERT INTO assistant_media (no, hash, part, data) VALUES (77, 'x', 0, '')`,
    );
    const store = postgres(url);
    await store.migrate();
    const rows = "SELECT DISTINCT session_id FROM assistant_media ORDER BY 1";
    expect(await server.query(url, rows)).toEqual([{ session_id: "" }, { session_id: "one" }, { session_id: "two" }]);
    expect((await store.check?.({ repair: true }))?.ok).toBe(true);
    expect((await store.session("one").path({ leafId: "c" })).messages).toHaveLength(2);
    await store.close();
  });
});
