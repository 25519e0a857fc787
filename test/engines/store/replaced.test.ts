import { copyFileSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import Database from "better-sqlite3";
import { afterAll, describe, expect, it } from "vitest";
import { Session } from "../../../packages/stemma/src/session.js";
import { memory } from "../../../packages/store/src/memory.js";
import { type SqliteClient, sqlite } from "../../../packages/store/src/sqlite.js";
import { cpuTimeOf } from "../../helpers/cpu-time.js";
import { textMessage } from "../../helpers/messages.js";

const folder = mkdtempSync(join(tmpdir(), "stemma-replaced-"));
let files = 0;
const newPath = () => join(folder, `${++files}.db`);
const REPLACED = { code: "STORE_REPLACED" };

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const DatabaseSync = findNodeSqlite();
const ways: [string, (path: string) => SqliteClient | string][] = [
  ["a path", (path) => path],
  ["a database of better-sqlite3", (path) => walOf(new Database(path))],
  ["a database without a write-ahead log", (path) => new Database(path)],
  ...(DatabaseSync === null
    ? []
    : [["a database of node:sqlite", (path) => walOf(new DatabaseSync(path))] satisfies (typeof ways)[number]]),
];

const harms: [string, (path: string) => void][] = [
  ["deleted", (path) => rmSync(path)],
  ["deleted with all that belongs to it", (path) => deleteAll(path)],
  ["moved away", (path) => renameSync(path, `${path}.old`)],
  [
    "replaced by a backup that is renamed over it",
    (path) => {
      copyFileSync(path, `${path}.backup`);
      renameSync(`${path}.backup`, path);
    },
  ],
  [
    "deleted, and made anew by another program",
    (path) => {
      deleteAll(path);
      const other = new Database(path);
      other.exec("CREATE TABLE t (x)");
      other.close();
    },
  ],
];

describe.each(ways)("a store on %s whose file is", (way, open) => {
  it.each(harms)("%s acknowledges no write, and gives nothing old to a reader", async (_, harm) => {
    const path = newPath();
    const store = sqlite(open(path) as SqliteClient);
    const session = Session.create(store);
    await session.appendMessage(textMessage("a"));
    harm(path);
    await expect(session.appendMessage(textMessage("b"))).rejects.toMatchObject(REPLACED);
    await expect(session.getHistory()).rejects.toMatchObject(REPLACED);
    await expect(session.replaceContextBlock("x", "y")).rejects.toMatchObject({ code: "BLOCK_NOT_FOUND" });
    await expect(session.clearMessages()).rejects.toMatchObject(REPLACED);
    await store.close();
    // A new store keeps what is written from now on.
    const again = sqlite(path);
    await Session.create(again).appendMessage(textMessage("c"));
    expect((await Session.create(again).getHistory()).at(-1)).toEqual(textMessage("c"));
    await again.close();
  });

  it("harmed after its folder was long the same acknowledges no write", async () => {
    const opened = harms.map(([, harm]) => {
      const path = join(mkdtempSync(join(folder, "quiet-")), "store.db");
      const store = sqlite(open(path) as SqliteClient);
      return { path, harm, store, session: Session.create(store) };
    });
    for (const { session } of opened) await session.appendMessage(textMessage("a"));
    await wait(3500);
    for (const id of ["b", "c"]) for (const { session } of opened) await session.appendMessage(textMessage(id));
    for (const { path, harm, store, session } of opened) {
      harm(path);
      await expect(session.appendMessage(textMessage("d"))).rejects.toMatchObject(REPLACED);
      await expect(session.getHistory()).rejects.toMatchObject(REPLACED);
      await store.close();
    }
  });

  it.skipIf(way.includes("without"))("robbed of its write-ahead log acknowledges no write", async () => {
    const path = newPath();
    const store = sqlite(open(path) as SqliteClient);
    const session = Session.create(store);
    await session.appendMessage(textMessage("a"));
    rmSync(`${path}-wal`);
    await expect(session.appendMessage(textMessage("b"))).rejects.toMatchObject(REPLACED);
    await store.close();
  });

  it("written by several goes on", async () => {
    const path = newPath();
    const [one, two] = [sqlite(open(path) as SqliteClient), sqlite(path, { synchronous: "normal" })];
    for (let round = 0; round < 5; round += 1) {
      await Session.create(one).appendMessage(textMessage(`a${round}`));
      await Session.create(two).appendMessage(textMessage(`b${round}`));
      const third = sqlite(path);
      await Session.create(third).appendMessage(textMessage(`c${round}`));
      await third.close();
    }
    expect((await Session.create(one).getHistory()).length).toBe(15);
    await Promise.all([one.close(), two.close()]);
  });
});

describe("a store whose file was replaced", () => {
  it("rolls back with the host's transaction", async () => {
    const path = newPath();
    const database = new Database(path);
    const session = Session.create(sqlite(database));
    await session.appendMessage(textMessage("a"));
    database.exec("BEGIN");
    renameSync(path, `${path}.old`);
    await expect(session.appendMessage(textMessage("b"))).rejects.toMatchObject(REPLACED);
    database.exec("ROLLBACK");
    const stored = database.prepare("SELECT id FROM assistant_messages").all();
    expect(stored).toEqual([{ id: "a" }]);
    database.close();
  });

  it("is not one whose database has no file", async () => {
    for (const store of [memory(), sqlite(":memory:"), sqlite(new Database(""))]) {
      await Session.create(store).appendMessage(textMessage("a"));
      expect(await Session.create(store).getHistory()).toEqual([textMessage("a")]);
      await store.close();
    }
  });

  it("is not one whose host changed the journal", async () => {
    const database = walOf(new Database(newPath()));
    const session = Session.create(sqlite(database));
    await session.appendMessage(textMessage("a"));
    database.exec("PRAGMA journal_mode = DELETE");
    await session.appendMessage(textMessage("b"));
    expect(await session.getHistory()).toEqual([textMessage("a"), textMessage("b")]);
    database.close();
  });

  it("is noticed in microseconds", async () => {
    const path = newPath();
    const store = sqlite(path);
    await store.migrate();
    // Of the processor: the clock counts other work of the machine too.
    const milliseconds = cpuTimeOf(() => {
      for (let round = 0; round < 2000; round += 1) {
        statSync(path, { bigint: true, throwIfNoEntry: false });
        statSync(`${path}-wal`, { bigint: true, throwIfNoEntry: false });
      }
    });
    expect(milliseconds / 2000).toBeLessThan(0.1);
    await store.close();
  });
});

describe("a second store on one path in a process", () => {
  // Closing a descriptor of a file ends the locks that the process holds on it: with those of the first store gone, another
  // process may delete the log that it writes to.
  it.skipIf(process.platform !== "linux")("leaves the locks of the first in place", async () => {
    const path = newPath();
    const first = sqlite(path);
    await Session.create(first).appendMessage(textMessage("a"));
    const locks = () => {
      const { ino } = statSync(path);
      return readFileSync("/proc/locks", "utf8")
        .split("\n")
        .filter((line) => line.includes(`:${ino} `)).length;
    };
    const held = locks();
    const second = sqlite(path);
    expect(locks()).toBe(held);
    await second.close();
    expect(locks()).toBe(held);
    await first.close();
    expect([held > 0, locks()]).toEqual([true, 0]);
  });
});

function deleteAll(path: string): void {
  for (const suffix of ["", "-wal", "-shm", "-journal"]) rmSync(path + suffix, { force: true });
}

function walOf<C extends { exec(sql: string): unknown }>(database: C): C {
  database.exec("PRAGMA journal_mode = WAL");
  return database;
}

function findNodeSqlite(): (new (path: string) => SqliteClient & { exec(sql: string): void }) | null {
  try {
    return createRequire(import.meta.url)("node:sqlite").DatabaseSync;
  } catch {
    return null;
  }
}
