import { rmSync } from "node:fs";
import type Database from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Session, SessionManager } from "../../../packages/stemma/src/session.js";
import { hashingEmbedder } from "../../../packages/stemma/src/testing.js";
import { type SqliteOptions, sqlite } from "../../../packages/store/src/sqlite.js";
import { textMessage } from "../../helpers/messages.js";
import { openDatabase } from "../../store/databases.js";
import { failingClient } from "../../store/file-target.js";

// On SQLite messages are noted when they are written, and indexed many at once, or before a search.

const FILE = `/tmp/stemma-unindexed-${process.pid}.db`;
const ENOUGH = 128;

const databases: Database.Database[] = [];
beforeEach(() => {
  for (const end of ["", "-wal", "-shm"]) rmSync(FILE + end, { force: true });
});
afterEach(() => {
  for (const database of databases.splice(0)) database.close();
});

function open(options: SqliteOptions = {}) {
  const database = openDatabase(FILE);
  databases.push(database);
  const store = sqlite(database, options);
  const one = (sql: string) => database.prepare(sql).pluck().get() as number;
  return {
    database,
    store,
    session: Session.create(store).forSession("chat"),
    noted: () => one("SELECT count(*) FROM assistant_unindexed"),
    indexed: () => one("SELECT count(*) FROM assistant_fts_docsize"),
  };
}

const ids = (found: readonly { id: string }[]) => found.map(({ id }) => id).sort();

describe("a message that was just written", () => {
  it("is noted, and found by the next search, which indexes it", async () => {
    const { session, noted, indexed } = open();
    await session.appendMessage(textMessage("a", "an apple"));
    expect([noted(), indexed()]).toEqual([1, 0]);
    expect(ids(await session.search("apples"))).toEqual(["a"]);
    expect([noted(), indexed()]).toEqual([0, 1]);
  });

  it("is found by other programs, and by one that indexes at once", async () => {
    const writer = open();
    await writer.session.appendMessage(textMessage("a", "an apple"));
    expect(ids(await open().session.search("apple"))).toEqual(["a"]);
    await writer.session.appendMessage(textMessage("b", "a banana"));
    const { database } = open();
    const host = {
      sql: (strings: TemplateStringsArray, ...values: unknown[]) => {
        const statement = database.prepare(strings.join("?"));
        return statement.reader ? statement.all(...values) : void statement.run(...values);
      },
    };
    expect(
      ids(
        await Session.create(host as never)
          .forSession("chat")
          .search("banana"),
      ),
    ).toEqual(["b"]);
  });

  it("is found by words and meaning", async () => {
    const { store } = open();
    const embedded = store.withEmbedder({ ...hashingEmbedder({ dimensions: 64 }), minSimilarity: 0.3 });
    const session = Session.create(embedded).forSession("chat");
    await session.appendMessage(textMessage("a", "an apple"));
    expect(ids(await session.search("apple"))).toEqual(["a"]);
    await embedded.embeddings.flush();
    await session.appendMessage(textMessage("b", "another apple"));
    expect(ids(await session.search("apple"))).toEqual(["a", "b"]);
  });

  it("is found by a search that was called before it was deleted", async () => {
    const { session } = open();
    await session.appendMessage(textMessage("a", "an apple"));
    const searching = session.search("apple");
    const deleting = session.deleteMessages(["a"]);
    expect(ids(await searching)).toEqual(["a"]);
    await deleting;
    expect(await session.search("apple")).toEqual([]);
  });

  it("is found by what it says since it was changed", async () => {
    const { session, indexed } = open();
    await session.appendMessage(textMessage("a", "an apple"));
    await session.updateMessage(textMessage("a", "a banana"));
    expect(indexed()).toBe(0);
    expect(await session.search("apple")).toEqual([]);
    expect(ids(await session.search("banana"))).toEqual(["a"]);
    await session.updateMessage(textMessage("a", "a cherry"));
    expect([await session.search("banana"), ids(await session.search("cherry"))]).toEqual([[], ["a"]]);
  });

  it("does not come back once it is deleted, also where another message has its row since", async () => {
    const { session, store, noted } = open();
    await session.appendMessage(textMessage("a", "an apple"));
    await session.deleteMessages(["a"]);
    expect(noted()).toBe(0);
    await session.appendMessage(textMessage("b", "a banana"));
    expect([await session.search("apple"), ids(await session.search("banana"))]).toEqual([[], ["b"]]);
    await session.appendMessage(textMessage("c", "an apple"));
    await session.clearMessages();
    expect(noted()).toBe(0);
    await session.appendMessage(textMessage("d", "an apple"));
    await SessionManager.create(store).delete("chat");
    expect(noted()).toBe(0);
  });

  it("without text is not noted", async () => {
    const { session, noted } = open();
    await session.appendMessage({ id: "a", role: "user", parts: [] });
    expect(noted()).toBe(0);
  });

  it("that cannot be read keeps no other from being found", async () => {
    const { session, database } = open();
    await session.appendAll([textMessage("a", "an apple"), textMessage("b", "an apple")]);
    database.exec("UPDATE assistant_messages SET content = substr(content, 1, 9) WHERE id = 'a'");
    expect(ids(await session.search("apple"))).toEqual(["b"]);
  });
});

describe("messages that are not indexed", () => {
  it("are few, however many sessions they are of", async () => {
    const { store, noted, indexed } = open();
    const manager = SessionManager.create(store);
    let most = 0;
    for (let index = 0; index < 2 * ENOUGH; index += 1) {
      await manager.append(`s${index % 50}`, textMessage(`m${index}`, `apple ${index}`));
      most = Math.max(most, noted());
    }
    expect(most).toBe(ENOUGH - 1);
    expect(noted() + indexed()).toBe(2 * ENOUGH);
  });

  it("are none behind a batch of many, and behind a long one", async () => {
    const { session, noted, indexed } = open();
    await session.appendMessage(textMessage("a", "an apple"));
    await session.appendAll(Array.from({ length: ENOUGH }, (_, index) => textMessage(`m${index}`, "an apple")));
    expect([noted(), indexed()]).toEqual([0, ENOUGH + 1]);
    await session.appendMessage(textMessage("b", "an apple"));
    await session.appendMessage(textMessage("c", "an apple ".repeat(5_000)));
    expect([noted(), indexed()]).toEqual([0, ENOUGH + 3]);
    const text = { type: "text", text: "an apple" };
    const output = { type: "tool-read", toolCallId: "1", state: "output-available", output: "x".repeat(40_000) };
    await session.appendMessage({ id: "d", role: "assistant", parts: [text, output] });
    expect([noted(), indexed()]).toEqual([0, ENOUGH + 4]);
    const image = { type: "file", mediaType: "image/png", url: `data:image/png;base64,${"A".repeat(4_000)}` };
    await session.appendMessage({ id: "e", role: "user", parts: [text, image] });
    expect([noted(), indexed()]).toEqual([0, ENOUGH + 5]);
    await session.appendMessage(textMessage("f", "an apple"));
    await session.updateMessage(textMessage("f", "a banana ".repeat(5_000)));
    expect([noted(), indexed()]).toEqual([0, ENOUGH + 6]);
  });

  it("are indexed as they would be at once", async () => {
    const later = open();
    const text = (index: number) => textMessage(`m${index}`, `apple ${"banana ".repeat(index % 7)} cherry ${index}`);
    const messages = Array.from({ length: 300 }, (_, index) => text(index));
    for (const message of messages) await later.session.appendMessage(message);
    const atOnce = Session.create(later.store).forSession("at once");
    await atOnce.appendAll(messages);
    for (const query of ["apple", "bananas", '"cherry 7"', "banana 12 cherry"]) {
      const found = async (session: Session) =>
        (await session.search(query, { limit: 50 })).map(({ id, score }) => [id, score]);
      expect(await found(later.session)).toEqual(await found(atOnce));
    }
  });

  it("are no fault of the index to a check; one that is neither noted nor indexed is", async () => {
    const { store, session, database, noted } = open();
    await session.appendAll([textMessage("a", "an apple"), textMessage("b", "a banana")]);
    expect((await store.check?.())?.problems).toEqual([]);
    expect(noted()).toBe(2);
    database.exec("DELETE FROM assistant_unindexed WHERE n = (SELECT min(n) FROM assistant_unindexed)");
    const { problems = [] } = (await store.check?.({ repair: true })) ?? {};
    expect(problems.map(({ rule, id, repaired }) => [rule, id, repaired])).toEqual([["index", "a", true]]);
    expect(ids(await session.search("apple"))).toEqual(["a"]);
  });

  it("are found after the database was open without search", async () => {
    const { session, store } = open();
    await session.appendMessage(textMessage("a", "an apple"));
    await store.close();
    const without = open({ search: false });
    await without.session.appendMessage(textMessage("b", "an apple"));
    await without.store.close();
    expect(ids(await open().session.search("apple"))).toEqual(["a", "b"]);
  });

  it("do not stand in the way of others that have their rows, where a program without search deleted them", async () => {
    const { session, store, noted } = open();
    await session.appendAll([textMessage("a", "an apple"), textMessage("b", "an apple")]);
    await open({ search: false }).store.sessions.delete("chat");
    expect(noted()).toBe(2);
    await SessionManager.create(store).append("another chat", textMessage("c", "a cherry"));
    expect(ids(await Session.create(store).forSession("another chat").search("cherry"))).toEqual(["c"]);
  });

  it("have an index to go to, where a program without search rewrote the database", async () => {
    const { session, noted } = open();
    await session.appendAll([textMessage("a", "an apple"), textMessage("b", "an apple")]);
    await open({ search: false }).store.scrub?.();
    expect(noted()).toBe(0);
    await session.appendMessage(textMessage("c", "an apple"));
    expect(ids(await session.search("apple"))).toEqual(["c"]);
    expect(ids(await open().session.search("apple"))).toEqual(["a", "b", "c"]);
  });

  it("stay noted when a search cannot index them, and the search says why", async () => {
    let fails = false;
    const database = openDatabase();
    const client = failingClient(database, (statement) => {
      if (fails && statement.includes("INTO assistant_fts")) throw new RangeError("the disk is full");
    });
    const session = Session.create(sqlite(client)).forSession("chat");
    await session.appendMessage(textMessage("a", "an apple"));
    fails = true;
    await expect(session.search("apple")).rejects.toThrow("the disk is full");
    fails = false;
    expect(ids(await session.search("apple"))).toEqual(["a"]);
    database.close();
  });
});
