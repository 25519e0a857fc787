import type Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { Session } from "../../../packages/stemma/src/session.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { textMessage } from "../../helpers/messages.js";
import { openDatabase } from "../../store/databases.js";

// Behaviour of single tables that no store's contract shows.

function openSession(): { database: Database.Database; session: Session } {
  const database = openDatabase();
  return { database, session: Session.create(sqlite(database)) };
}

const image = (id: string, letter = "A") => ({
  id,
  role: "user",
  parts: [{ type: "file", mediaType: "image/png", url: `data:image/png;base64,${letter.repeat(50_000)}` }],
});

describe("inline media", () => {
  const stored = (database: Database.Database) =>
    database.prepare("SELECT count(*) FROM assistant_media").pluck().get() as number;

  it("are stored once per content and session, outside the row", async () => {
    const { database, session } = openSession();
    await session.appendAll([
      image("a"),
      image("b"),
      { ...image("c"), parts: [...image("c").parts, image("c").parts[0]] },
    ]);
    expect(stored(database)).toBe(1);
    const sizes = database.prepare("SELECT max(length(content)) FROM assistant_messages").pluck().get();
    expect(sizes).toBeLessThan(1000);
    await Session.create(sqlite(database)).forSession("other").appendMessage(image("a"));
    expect(stored(database)).toBe(2);
  });

  it("stay while a message shows them, and go with the last one", async () => {
    const { database, session } = openSession();
    await session.appendAll([image("a"), image("b"), image("c", "B")]);
    expect(stored(database)).toBe(2);
    await session.deleteMessages(["a"]);
    expect(stored(database)).toBe(2);
    expect(await session.getMessage("b")).toEqual(image("b"));
    await session.deleteMessages(["b"]);
    expect(stored(database)).toBe(1);
    await session.updateMessage(textMessage("c"));
    expect(stored(database)).toBe(0);
    await session.appendMessage(image("d"));
    await session.clearMessages();
    expect(stored(database)).toBe(0);
    expect(database.prepare("SELECT count(*) FROM assistant_media_refs").pluck().get()).toBe(0);
  });
});

describe("a stored message that cannot be read", () => {
  it.each([
    "",
    "{",
    "null",
    "[]",
    "{}",
    "1",
    '{"id":"b","role":"user","parts":{}}',
    '{"id":"b","role":"user","parts":[],"$stemma":null}',
    '{"id":"b","role":"user","parts":[],"$stemma":{"media":[{"path":["parts",3,"url"],"hash":"x"}]}}',
    '{"id":"b","role":"user","parts":[],"$stemma":{"media":1}}',
    '{"id":"b","role":"user","parts":[],"$stemma":{"split":"row:1"}}',
  ])("is reported whatever is wrong with it: %s", async (content) => {
    const { database, session } = openSession();
    await session.appendAll([textMessage("a"), textMessage("b"), textMessage("c")]);
    database.prepare("UPDATE assistant_messages SET content = ? WHERE id = 'b'").run(content);
    await expect(session.getHistory()).rejects.toMatchObject({ code: "CORRUPT_MESSAGE", details: { messageId: "b" } });
    const lenient = await session.getHistory(undefined, { onCorrupt: "skip" });
    expect([...lenient]).toEqual([textMessage("a"), textMessage("c")]);
    expect(lenient.corrupt).toMatchObject([{ id: "b" }].map(({ id }) => id));
    expect((await session.getTree()).map(({ id }) => id)).toEqual(["a", "b", "c"]);
    expect((await session.search("b")).length).toBeLessThanOrEqual(1);
    await session.updateMessage(textMessage("b"));
    expect((await session.getHistory()).length).toBe(3);
  });
});

describe("the numbers that rows are counted with", () => {
  const SPAN = 2 ** 28;

  it("end: a session whose last number is taken refuses another message", async () => {
    const { database, session } = openSession();
    await session.appendMessage(textMessage("a"));
    const { no } = database.prepare("SELECT no FROM assistant_sessions").get() as { no: number };
    database.prepare("UPDATE assistant_messages SET n = ?").run(no * SPAN + SPAN - 1);
    await expect(session.appendMessage(textMessage("b"))).rejects.toMatchObject({ code: "SESSION_LIMIT" });
    expect(await session.getHistory()).toEqual([textMessage("a")]);
  });
});

describe("what is not a database of ours", () => {
  it("refuses a database that a newer program wrote", async () => {
    const { database, session } = openSession();
    await session.appendMessage(textMessage("a"));
    database.prepare("INSERT INTO assistant_schema (version, applied_at) VALUES (999, '')").run();
    const later = Session.create(sqlite(database));
    await expect(later.getHistory()).rejects.toMatchObject({ code: "DATABASE_TOO_NEW" });
  });
});
