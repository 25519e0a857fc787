import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, describe, expect, it } from "vitest";
import { collect } from "../../../packages/conformance/src/samples.js";
import { Session } from "../../../packages/stemma/src/session.js";
import type { memory } from "../../../packages/store/src/memory.js";
import { type SqliteClient, sqlite } from "../../../packages/store/src/sqlite.js";
import { textMessage } from "../../helpers/messages.js";
import { openDatabase } from "../../store/databases.js";
import { dumpTables, failingClient } from "../../store/file-target.js";

const root = mkdtempSync(join(tmpdir(), "stemma-backup-"));
const newFolder = () => mkdtempSync(join(root, "case-"));

afterAll(() => rmSync(root, { recursive: true, force: true }));

function dumpOf(path: string) {
  const database = openDatabase(path);
  try {
    return dumpTables(database);
  } finally {
    database.close();
  }
}

async function filled(source: string | SqliteClient, messages = 3) {
  const store = sqlite(source);
  const session = Session.create(store).forSession("one").withContext("memory");
  for (let index = 0; index < messages; index += 1) await session.appendMessage(textMessage(`m${index}`));
  await session.replaceContextBlock("memory", "tea");
  await store.entries.set({ sessionId: "one", label: "facts" }, { key: "k", content: "a fact" });
  await store.records.set({ sessionId: "", label: "marks" }, "k", Uint8Array.of(1));
  return store;
}

describe("a backup", () => {
  it("is a file that holds all that the store holds, and that its owner alone may read", async () => {
    const folder = newFolder();
    const path = join(folder, "store.db");
    const store = await filled(path);
    const copy = join(folder, "copy.db");
    const report = await store.backup(copy);
    expect(report).toMatchObject({ path: copy, bytes: statSync(copy).size, check: { ok: true, problems: [] } });
    expect(statSync(copy).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder).sort()).toEqual(["copy.db", "store.db", "store.db-shm", "store.db-wal"]);
    expect(dumpOf(copy)).toEqual(dumpOf(path));
    // It is a store of its own.
    const again = sqlite(copy);
    await Session.create(again).forSession("one").appendMessage(textMessage("later"));
    expect(await again.session("one").count()).toBe(4);
    expect(await store.session("one").count()).toBe(3);
    await again.close();
    await store.close();
    await expect(store.backup(join(folder, "closed.db"))).rejects.toMatchObject({ code: "STORE_CLOSED" });
  });

  it("is made of a database that was opened elsewhere, and of one without a file", async () => {
    const folder = newFolder();
    const ways: [string, () => Promise<ReturnType<typeof memory>>][] = [
      ["client", () => filled(new Database(join(folder, "client.db")) as SqliteClient)],
      ["memory", () => filled(":memory:")],
    ];
    for (const [name, open] of ways) {
      const store = await open();
      const copy = join(folder, `${name}-copy.db`);
      await store.backup(copy);
      const again = sqlite(copy);
      expect(await collect(again.session("one").messages())).toEqual(await collect(store.session("one").messages()));
      await again.close();
      await store.close();
    }
  });

  it("overwrites nothing, and nothing that SQLite would read with it", async () => {
    const folder = newFolder();
    const store = await filled(join(folder, "store.db"));
    for (const name of ["a.db", "b.db-wal", "c.db-journal"]) {
      writeFileSync(join(folder, name), "text");
      const path = join(folder, name.replace(/-.*/, ""));
      await expect(store.backup(path)).rejects.toMatchObject({ code: "FILE_EXISTS" });
    }
    await expect(store.backup(join(folder, "store.db"))).rejects.toMatchObject({ code: "FILE_EXISTS" });
    await expect(store.backup(join(folder, "no", "folder.db"))).rejects.toMatchObject({ code: "STORE_FAILED" });
    for (const path of ["", ":memory:", undefined]) {
      await expect(store.backup(path as string)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    }
    await expect(store.forUser("ada").backup(join(folder, "d.db"))).rejects.toMatchObject({ code: "SESSION_OWNED" });
    expect(readdirSync(folder).filter((name) => name.endsWith(".tmp"))).toEqual([]);
    await store.close();
  });

  it("is not made of what is damaged, unless the damage is wanted too", async () => {
    const folder = newFolder();
    const path = join(folder, "store.db");
    const store = await filled(path);
    const database = openDatabase(path);
    database.prepare("UPDATE assistant_messages SET role = 'tool' WHERE id = 'm1'").run();
    database.close();
    const copy = join(folder, "copy.db");
    const error = { code: "STORE_DAMAGED", details: { problems: 1, rule: "fields" } };
    await expect(store.backup(copy)).rejects.toMatchObject(error);
    expect(readdirSync(folder).filter((name) => !name.startsWith("store.db"))).toEqual([]);
    expect(await store.backup(copy, { check: false })).toMatchObject({ check: null });
    expect(dumpOf(copy)).toEqual(dumpOf(path));
    await store.close();
  });

  it("of which a statement fails leaves nothing behind, and succeeds when tried again", async () => {
    const folder = newFolder();
    let failing = 0;
    const client = failingClient(openDatabase(join(folder, "store.db")), () => {
      if (failing > 0 && --failing === 0) throw new RangeError("injected");
    });
    const store = await filled(client);
    for (let at = 1, failed = true; failed; at += 1) {
      failing = at;
      const path = join(folder, "copy.db");
      failed = await store.backup(path).then(
        () => false,
        () => true,
      );
      expect(readdirSync(folder).filter((name) => !name.startsWith("store.db"))).toEqual(failed ? [] : ["copy.db"]);
    }
    await store.close();
  });

  it("is refused by stores that are no file, with what to do instead", async () => {
    const { refuseBackup } = await import("../../../packages/store/src/sql/sql-calls.js");
    await expect(refuseBackup("postgres")("copy.db")).rejects.toMatchObject({
      code: "STORE_UNSUPPORTED",
      message: expect.stringContaining("copyStore"),
    });
  });
});
