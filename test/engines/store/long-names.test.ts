import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, describe, expect, it } from "vitest";
import { message } from "../../../packages/conformance/src/samples.js";
import { SessionManager } from "../../../packages/stemma/src/session.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";

const folder = mkdtempSync(join(tmpdir(), "stemma-names-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("what was stored", () => {
  it("under a name that is longer than names may be now is read, changed and deleted", async () => {
    const path = join(folder, "long.db");
    const long = "x".repeat(5000);
    const first = sqlite(path);
    const made = SessionManager.create(first).withContext("memory");
    await made.appendAll("s", [message("a", "tea"), message("b", "tea")]);
    await made.getSession("s").replaceContextBlock("memory", "Likes tea.");
    await first.records.set({ sessionId: "s", label: "l" }, "k", new Uint8Array([1]));
    await first.entries.set({ sessionId: "s", label: "l" }, { key: "k", content: "x" });
    await first.close();
    const raw = new Database(path);
    raw.prepare("UPDATE assistant_sessions SET id = ?").run(long);
    raw
      .prepare("UPDATE assistant_messages SET id = ?, content = json_set(content, '$.id', ?) WHERE id = 'a'")
      .run(long, long);
    raw.prepare("UPDATE assistant_messages SET parent_id = ? WHERE parent_id = 'a'").run(long);
    for (const table of ["assistant_messages", "cf_agents_context_blocks", "assistant_versions"]) {
      raw.prepare(`UPDATE ${table} SET session_id = ?`).run(long);
    }
    raw.prepare("UPDATE assistant_records SET session_id = ?, label = ?, key = ?").run(long, long, long);
    raw.prepare("UPDATE cf_agents_search_entries SET session_id = ?, label = ?, key = ?").run(long, long, long);
    raw.close();

    const store = sqlite(path);
    const manager = SessionManager.create(store).withContext("memory");
    expect((await manager.list()).map(({ id }) => id)).toEqual([long]);
    const session = manager.getSession(long);
    expect((await session.getHistory()).map(({ id }) => id)).toEqual([long, "b"]);
    expect((await session.readContextBlock("memory"))?.content).toBe("Likes tea.");
    expect((await store.records.get({ sessionId: long, label: long }, long))?.value).toEqual(new Uint8Array([1]));
    expect((await store.entries.get({ sessionId: long, label: long }, long))?.content).toBe("x");
    expect((await manager.search("tea")).map(({ id }) => id).toSorted()).toEqual(["b", long].toSorted());
    await expect(session.appendMessage(message("c"))).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      details: { limit: 1024, bytes: 5000 },
    });
    await manager.rename(long, "Renamed");
    await session.deleteMessages([long]);
    expect((await session.getHistory()).map(({ id }) => id)).toEqual(["b"]);
    await store.records.delete({ sessionId: long, label: long }, long);
    await store.entries.delete({ sessionId: long, label: long }, long);
    await manager.delete(long);
    expect(await manager.list()).toEqual([]);
    await store.close();
  });
});
