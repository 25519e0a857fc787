import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { postgres, schemaSql } from "../../../packages/postgres/src/postgres.js";
import { Session, SessionManager } from "../../../packages/stemma/src/session.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { textMessage } from "../../helpers/messages.js";
import { describeServer } from "../../postgres/server.js";

const DOCUMENTS = readFileSync(join(import.meta.dirname, "../../postgres/documents-schema.sql"), "utf8");

describeServer("schemas", (server) => {
  let url = "";
  const stores: Store[] = [];
  const open = (schema?: string): Store => {
    const store = postgres(url, { schema });
    stores.push(store);
    return store;
  };

  beforeEach(async () => {
    url = await server.createDatabase();
  });

  afterEach(async () => {
    for (const store of stores.splice(0)) await store.close();
  });

  const NAMES = [
    "it's",
    'a"b',
    "what?",
    "100%s",
    "a.b",
    "assistant_messages",
    "$1",
    "select",
    // The tags of the block that makes a new database.
    "$definition$",
    "$block_definition$",
    " Zoë 漢字 ",
    "x".repeat(63),
  ];

  it.each(NAMES)("may be named %j, whatever SQL makes of that", async (schema) => {
    const store = open(schema);
    await server.query(url, `CREATE SCHEMA "${schema.replaceAll('"', '""')}"`);
    await server.query(url, `SET search_path = "${schema.replaceAll('"', '""')}"; ${DOCUMENTS}`);
    const session = Session.create(store).forSession("s").withContext("memory");
    await session.appendAll([textMessage("a", "red apples"), textMessage("b", "green pears")]);
    await session.appendMessage(textMessage("c", "yellow lemons"), "a");
    await session.addCompaction("apples", "a", "a");
    await session.replaceContextBlock("memory", "User likes fruit.");
    await SessionManager.create(store).fork("s", "b", "copy", { id: "copy" });
    expect((await session.getHistory("b")).map(({ id }) => id)).toEqual([expect.stringMatching(/^compaction_/), "b"]);
    expect((await session.search("pear")).map(({ id }) => id)).toEqual(["b"]);
    await session.deleteMessages(["a"]);
    await SessionManager.create(store).delete("s");
    expect((await SessionManager.create(open(schema)).list()).map(({ id }) => id)).toEqual(["copy"]);
    expect(await open().sessions.list({})).toEqual({ sessions: [], nextCursor: null });
  });

  it.each(["", "a\0b", "a$$b", "x".repeat(64), "ä".repeat(32), "\ud800", 7 as never])(
    "is refused when it is named %j, which Postgres could not tell from another or from SQL",
    (schema) => {
      expect(() => postgres(url, { schema })).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
      expect(() => schemaSql({ schema })).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
    },
  );

  it("are upgraded one by one: the tables of the documents in another schema stay as they are", async () => {
    await server.query(url, `${DOCUMENTS}; CREATE SCHEMA other; SET search_path = other; ${DOCUMENTS}`);
    const indexes = () =>
      server.query(url, "SELECT indexname FROM pg_indexes WHERE schemaname = 'public' ORDER BY indexname");
    const before = await indexes();
    await open("other").migrate();
    expect(await indexes()).toEqual(before);
  });

  describe("that someone migrated by hand, and not to the end", () => {
    const script = schemaSql()
      .split(/;\n\n(?=[A-Z])/)
      .map((statement) => statement.replace(/^-- .*\nBEGIN|\n?COMMIT;\n$/g, ""))
      .filter((statement) => statement.trim() !== "");
    const DATA = `INSERT INTO assistant_messages (id, session_id, role, content, text_content) VALUES
      ('a', 's', 'user', '${JSON.stringify(textMessage("a", "red apples"))}', 'red apples')`;

    it.each(script.map((_, index) => index + 1).filter((done) => done % 4 === 3 || done === script.length))(
      "are completed after %i statements, with nothing lost",
      async (done) => {
        await server.query(url, [DOCUMENTS, DATA, ...script.slice(0, done)].join(";\n"));
        const session = Session.create(open()).forSession("s");
        await session.appendMessage(textMessage("b", "green pears"));
        expect(await session.getHistory()).toEqual([textMessage("a", "red apples"), textMessage("b", "green pears")]);
        expect((await session.search("apple")).map(({ id }) => id)).toEqual(["a"]);
      },
    );
  });
});
