import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, describe, expect, it } from "vitest";
import { Session } from "../../../packages/stemma/src/session.js";
import { memory } from "../../../packages/store/src/memory.js";
import { sqliteError } from "../../../packages/store/src/sqlite/error.js";
import { type SqliteClient, sqlite } from "../../../packages/store/src/sqlite.js";
import { textMessage } from "../../helpers/messages.js";
import { isStandIn } from "../../runtimes/stand-in.js";

const folder = mkdtempSync(join(tmpdir(), "stemma-open-"));
let files = 0;
const newPath = () => join(folder, `${++files}.db`);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("opening a SQLite file", () => {
  it("makes it, and what SQLite puts beside it, readable for its owner only", async () => {
    const path = newPath();
    const store = sqlite(path);
    await Session.create(store).appendMessage(textMessage("a"));
    for (const suffix of ["", "-wal", "-shm"]) expect(statSync(path + suffix).mode & 0o777).toBe(0o600);
    await store.close();
  });

  it("keeps a write-ahead log, so that readers do not wait for a writer", async () => {
    const path = newPath();
    const store = sqlite(path);
    await Session.create(store).appendMessage(textMessage("a"));
    const other = new Database(path);
    expect(other.pragma("journal_mode", { simple: true })).toBe("wal");
    other.exec("BEGIN IMMEDIATE");
    expect(await Session.create(store).getHistory()).toEqual([textMessage("a")]);
    other.close();
    await store.close();
  });

  it("refuses a file that is not a database, and leaves it as it is", async () => {
    const path = newPath();
    writeFileSync(path, "a letter, not a database ".repeat(50));
    await expect(async () => sqlite(path).migrate()).rejects.toMatchObject({ code: "NOT_A_DATABASE" });
    expect(statSync(path).size).toBe(1250);
  });

  it("lets go of a file that it could not open", async () => {
    const path = newPath();
    const store = sqlite(path);
    await Session.create(store).appendMessage(textMessage("a"));
    await store.close();
    const whole = readFileSync(path);
    writeFileSync(path, whole.toString("latin1").replaceAll("CREATE TABLE", "CREATE TABEL"), "latin1");
    expect(() => sqlite(path)).toThrow(expect.objectContaining({ code: "STORE_FAILED" }));
    // What is still open would keep these, and a lock on the file.
    for (const suffix of ["-wal", "-shm"]) expect(existsSync(path + suffix)).toBe(false);
    whole[18] = whole[19] = 1; // A backup keeps no write-ahead log.
    writeFileSync(path, whole);
    const restored = sqlite(path, { busyTimeout: 0 });
    expect(await Session.create(restored).getHistory()).toEqual([textMessage("a")]);
    await restored.close();
  });

  it("refuses a path in a folder that is not there", async () => {
    await expect(async () => sqlite(join(folder, "none", "x.db")).migrate()).rejects.toMatchObject({
      code: "STORE_FAILED",
    });
  });

  it("refuses a write while another connection holds the file longer than the busy timeout, and does it afterwards", async () => {
    const path = newPath();
    const store = sqlite(path, { busyTimeout: 20 });
    const session = Session.create(store);
    await session.appendMessage(textMessage("a"));
    const other = new Database(path);
    other.exec("BEGIN IMMEDIATE");
    await expect(session.appendMessage(textMessage("b"))).rejects.toMatchObject({ code: "STORE_LOCKED" });
    other.exec("ROLLBACK");
    await session.appendMessage(textMessage("b"));
    expect(await session.getHistory()).toEqual([textMessage("a"), textMessage("b")]);
    other.close();
    await store.close();
  });

  it("refuses options that mean nothing", () => {
    for (const options of [{ synchronous: "off" as "full" }, { busyTimeout: -1 }, { busyTimeout: 1.5 }]) {
      expect(() => sqlite(newPath(), options)).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
    }
    for (const source of [null, 1, {}, { prepare: 1 }] as unknown[]) {
      expect(() => sqlite(source as SqliteClient)).toThrow(expect.objectContaining({ code: "STORE_UNSUPPORTED" }));
    }
  });

  it.skipIf(isStandIn)("writes to the disk before a promise resolves, unless it is told otherwise", () => {
    // The setting belongs to a connection, not to the file, so it is watched as it is made.
    const settings: string[] = [];
    for (const options of [{}, { synchronous: "normal" as const }]) {
      const path = newPath();
      const exec = Database.prototype.exec;
      Database.prototype.exec = function (this: Database.Database, sql: string) {
        settings.push(sql);
        return exec.call(this, sql);
      };
      try {
        sqlite(path, options);
      } finally {
        Database.prototype.exec = exec;
      }
    }
    const modes = settings.filter((sql) => sql.includes("synchronous"));
    expect(modes).toEqual(["PRAGMA synchronous = FULL", "PRAGMA synchronous = NORMAL"]);
  });
});

describe("a database that its user opened", () => {
  it("keeps the user's settings, and fails with STORE_CLOSED when the user closed it", async () => {
    const database = new Database(newPath());
    database.pragma("journal_mode = DELETE");
    const session = Session.create(sqlite(database));
    await session.appendMessage(textMessage("a"));
    expect(database.pragma("journal_mode", { simple: true })).toBe("delete");
    database.close();
    await expect(session.appendMessage(textMessage("b"))).rejects.toMatchObject({ code: "STORE_CLOSED" });
    await expect(session.getHistory()).rejects.toMatchObject({ code: "STORE_CLOSED" });
  });
});

describe("stores in memory", () => {
  it("are apart from each other, and say that they do not last", async () => {
    const [one, two] = [memory(), memory()];
    await Session.create(one).appendMessage(textMessage("a"));
    expect(await Session.create(two).getHistory()).toEqual([]);
    expect([one.name, one.capabilities.durable]).toEqual(["memory", false]);
  });

  it("says what to do about a file that may not be written", async () => {
    const path = newPath();
    const store = sqlite(path);
    await store.migrate();
    await store.close();
    const refused = { code: "STORE_FAILED", message: expect.stringContaining("copy the file to another folder") };
    for (const known of [{}, { code: "SQLITE_READONLY_DIRECTORY" }, { errcode: 1544 }]) {
      const error = Object.assign(new Error("attempt to write a readonly database"), known);
      expect(sqliteError(error, `"${path}"`)).toMatchObject(refused);
    }
    const reader = sqlite(new Database(path, { readonly: true }));
    await expect(Session.create(reader).appendMessage(textMessage("a"))).rejects.toMatchObject(refused);
    await reader.close();
  });

  // Root may write everywhere.
  it.skipIf(process.getuid?.() === 0 || process.platform === "win32")("says it of a folder too", async () => {
    const closed = mkdtempSync(join(tmpdir(), "stemma-open-"));
    const path = join(closed, "a.db");
    const store = sqlite(path);
    await store.migrate();
    await store.close();
    chmodSync(closed, 0o555);
    try {
      expect(() => sqlite(path)).toThrow(expect.objectContaining({ code: "STORE_FAILED" }));
      expect(() => sqlite(path)).toThrow("copy the file to another folder");
    } finally {
      chmodSync(closed, 0o755);
      rmSync(closed, { recursive: true });
    }
  });

  it("is told by the name of its store once that was closed", async () => {
    for (const [store, name] of [
      [sqlite(":memory:"), "sqlite"],
      [memory(), "memory"],
      [memory().forUser("ada"), "memory"],
    ] as const) {
      await store.close();
      const message = `This ${name} store was closed; open a new one.`;
      const closed = { code: "STORE_CLOSED", message, details: { store: name } };
      await expect(Session.create(store).getHistory()).rejects.toMatchObject(closed);
    }
  });
});
