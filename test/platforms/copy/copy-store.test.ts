import { copyFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { afterAll, describe, expect, it } from "vitest";
import { collect } from "../../../packages/conformance/src/samples.js";
import { readSessionFile } from "../../../packages/formats/src/read.js";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import { copyStore, exportStore } from "../../../packages/stemma/src/copy.js";
import { jsonlFiles } from "../../../packages/stemma/src/copy-node.js";
import { importSession } from "../../../packages/stemma/src/formats.js";
import { Session } from "../../../packages/stemma/src/session.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { memory } from "../../../packages/store/src/memory.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { textMessage } from "../../helpers/messages.js";

const root = mkdtempSync(join(tmpdir(), "stemma-copy-"));
const newPath = (name: string) => join(mkdtempSync(join(root, "case-")), name);

afterAll(() => rmSync(root, { recursive: true, force: true }));

const linesOf = (store: Store) => collect(exportStore(store));

async function fill(store: Store): Promise<void> {
  for (const id of ["b", "a", "B"]) {
    const session = Session.create(store).forSession(id).withContext("memory");
    for (const message of ["1", "2", "3"]) await session.appendMessage(textMessage(message));
    await session.appendMessage({ ...textMessage("4"), createdAt: new Date(1e12) }, "2");
    await session.replaceContextBlock("memory", `tea of ${id}`);
    await session.appendContextBlock("memory", "and milk");
  }
  await store.sessions.addUsage("a", 1, 2, 0.1 + 0.2, "model");
  await store.forUser("ada").blocks.set({ sessionId: "", kind: "block", label: "m", scope: "user" }, "coffee");
}

/** Sessions with each field of the registry missing, empty and told. */
async function register(store: Store): Promise<void> {
  await Session.create(store).appendMessage(textMessage("1"));
  const texts = [undefined, "", "told"];
  for (const [index, text] of texts.entries()) {
    await store.sessions.create({
      id: `s${index}`,
      name: text ?? "",
      source: text,
      model: text,
      parentSessionId: text,
    });
    await store.forUser("ada").sessions.create({ id: `m${index}`, name: text ?? " ", metadata: { a: text ?? null } });
    await store.session(`m${index}`).append([textMessage("1")]);
    await store.sessions.addUsage(`m${index}`, 1, 2, 0.5, text);
    await store.sessions.restore(`s${index}`, { endReason: text ?? null });
    await store.sessions.fork(`m${index}`, "1", { id: `f${index}`, name: text ?? "" });
  }
}

describe("a copy", () => {
  it("goes from kind to kind and comes back as it was", async () => {
    const first = memory();
    await fill(first);
    const lines = await linesOf(first);
    const database = await PGlite.create();
    const folder = newPath("folder");
    const last = sqlite(newPath("last.db"));
    const ways = [first, postgres(database), jsonlFiles(folder), sqlite(newPath("between.db")), last];
    for (const [index, to] of ways.entries()) {
      const from = ways[index - 1];
      if (from === undefined) continue;
      const { ok, sessions, messages, parts } = await copyStore(from, to);
      expect({ ok, sessions, messages, parts: parts.length }).toEqual({
        ok: true,
        sessions: 3,
        messages: 12,
        parts: 4,
      });
      expect(new Set(parts.map(({ state }) => state))).toEqual(new Set(["copied"]));
    }
    expect(await linesOf(last)).toEqual(lines);
    expect(readdirSync(folder).length).toBe(5);
    await database.close();
  });

  it("leaves a folder's files as they are, goes on with one that was cut off, and tells of others", async () => {
    const store = memory();
    await fill(store);
    const folder = newPath("folder");
    const stop = new AbortController();
    const onPart = () => stop.abort(new RangeError("stopped"));
    await expect(copyStore(store, jsonlFiles(folder), { onPart, signal: stop.signal })).rejects.toThrow("stopped");
    await expect(copyStore(jsonlFiles(folder), memory())).rejects.toMatchObject({ code: "UNKNOWN_FORMAT" });
    const second = await copyStore(store, jsonlFiles(folder));
    expect(second.parts.map(({ state }) => state)).toEqual(["present", "copied", "copied", "copied"]);
    await Session.create(store).forSession("a").appendMessage(textMessage("later"));
    const third = await copyStore(store, jsonlFiles(folder));
    expect(third.parts.map(({ problem }) => problem?.code)).toEqual([undefined, "COPY_CONFLICT", undefined, undefined]);
    await expect(copyStore(store, jsonlFiles(newPath("one.jsonl")))).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
  });

  it("is told where the lines are cut off, and where they are none of ours", async () => {
    const store = memory();
    await fill(store);
    const text = (await linesOf(store)).join("");
    const cut = newPath("cut.jsonl");
    writeFileSync(cut, text.slice(0, text.lastIndexOf('{"end"')));
    const copy = memory();
    const { ok, parts } = await copyStore(jsonlFiles(cut), copy);
    expect([ok, parts.map(({ problem }) => problem?.code)]).toEqual([
      false,
      [undefined, undefined, undefined, "UNKNOWN_FORMAT"],
    ]);
    const other = newPath("other.jsonl");
    for (const content of ['{"role":"user"}\n', "text\n", '{"stemma":1,"session":{"id":"s"}}\n']) {
      writeFileSync(other, content);
      await expect(copyStore(jsonlFiles(other), memory())).rejects.toMatchObject({ code: "UNKNOWN_FORMAT" });
    }
    await expect(copyStore(jsonlFiles(newPath("no.jsonl")), memory())).rejects.toMatchObject({ code: "ENOENT" });
  });

  it("is what `stemma import` reads too", async () => {
    const store = memory();
    await fill(store);
    const path = newPath("all.jsonl");
    writeFileSync(path, (await linesOf(store)).join(""));
    const copy = memory();
    for await (const session of readSessionFile(path)) {
      expect((await importSession(copy, session))?.skipped).toEqual([]);
    }
    expect(await linesOf(copy)).toEqual(await linesOf(store));
  });

  it.for(["copies", "lines that are imported", "a file of lines that is copied"])(
    "gives the same in every read through %s, empty texts of the registry too",
    async (way) => {
      const store = memory();
      await register(store);
      const copy = way.startsWith("lines") ? memory() : sqlite(newPath("copy.db"));
      const path = newPath("all.jsonl");
      writeFileSync(path, (await linesOf(store)).join(""));
      const from = way === "copies" ? store : jsonlFiles(path);
      if (way.startsWith("lines")) {
        for await (const session of readSessionFile(path)) {
          expect((await importSession(copy, session))?.skipped).toEqual([]);
        }
      } else expect((await copyStore(from, copy)).parts.filter(({ problem }) => problem)).toEqual([]);
      expect(await linesOf(copy)).toEqual(await linesOf(store));
      // Also of what was imported a copy finds nothing to do.
      const again = await copyStore(from, copy);
      expect(new Set(again.parts.map(({ state, problem }) => problem ?? state))).toEqual(new Set(["present"]));
      const sessions = async (each: Store) => (await each.sessions.list({ limit: 100 })).sessions;
      expect(await sessions(copy)).toEqual(await sessions(store));
      expect((await sessions(copy)).map(({ name }) => name)).toContain("");
      await copy.close();
    },
  );

  it("takes along what `agents` wrote, for programs that look for it", async () => {
    const path = newPath("agents.db");
    copyFileSync(join(import.meta.dirname, "../../fixtures/agents-0.22.0-wirings.sqlite"), path);
    const store = sqlite(path);
    const copy = memory();
    expect((await copyStore(store, copy)).parts.filter(({ problem }) => problem)).toEqual([]);
    expect(await linesOf(copy)).toEqual(await linesOf(store));
    const upgraded = { sessionId: "agents_before_upgrade" };
    const blocks = await store.blocks.list(upgraded);
    expect(blocks.length).toBeGreaterThan(0);
    // As a program that names a label of its own finds them, in a session that is new.
    for (const { label, content } of blocks) {
      const key = { sessionId: "new", kind: "block", label: "any", upgradedLabel: label } as const;
      expect((await copy.blocks.get(key))?.content).toBe(content);
    }
    expect((await copy.check?.())?.problems).toEqual([]);
    await store.close();
  });

  it("tells of a session that cannot be read, and copies the others", async () => {
    const path = newPath("damaged.db");
    const store = sqlite(path);
    await fill(store);
    const { openDatabase } = await import("../../store/databases.js");
    const database = openDatabase(path);
    database.prepare("UPDATE assistant_messages SET content = '{' WHERE session_id = 'a' AND id = '2'").run();
    database.close();
    const copy = memory();
    const { ok, sessions, parts } = await copyStore(store, copy);
    expect([ok, sessions]).toEqual([false, 2]);
    expect(parts.find(({ state }) => state === "failed")).toMatchObject({
      of: { session: "a" },
      problem: { code: "CORRUPT_MESSAGE" },
    });
    await store.close();
  });

  it("of a store of one user is that user's", async () => {
    const store = memory();
    await fill(store);
    await store
      .forUser("ada")
      .session("of ada")
      .append([textMessage("1")]);
    const copy = memory();
    const { ok, parts } = await copyStore(store.forUser("ada"), copy);
    expect([ok, parts.map(({ of }) => of)]).toEqual([true, [{ session: "of ada" }, { user: "ada" }]]);
    expect(await copy.sessions.count()).toBe(1);
  });

  it("takes another look at what was written while it was read", async () => {
    const store = memory();
    await fill(store);
    const session = Session.create(store).forSession("a");
    let late = 0;
    const writing: Store = {
      ...store,
      blocks: {
        ...store.blocks,
        list: async (scope) => {
          if (scope.sessionId === "a" && late++ === 0) await session.appendMessage(textMessage("late"));
          return store.blocks.list(scope);
        },
      },
    };
    const copy = memory();
    expect((await copyStore(writing, copy)).ok).toBe(true);
    expect(await linesOf(copy)).toEqual(await linesOf(store));
  });
});
