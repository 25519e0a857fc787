import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { imageMessage } from "../../../packages/conformance/src/messages/fidelity.js";
import { message } from "../../../packages/conformance/src/samples.js";
import { AgentSearchProvider } from "../../../packages/session/src/context/providers/agent-search.js";
import { SessionManager } from "../../../packages/session/src/manager/session-manager.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { FROM_SOURCES } from "../../../scripts/entry-points.mjs";

const root = join(import.meta.dirname, "../../..");
const folder = mkdtempSync(join(tmpdir(), "stemma-erasing-"));
const cache = join(root, "node_modules/.cache");
let program = "";
let files = 0;

beforeAll(async () => {
  mkdirSync(cache, { recursive: true });
  program = join(mkdtempSync(join(cache, "stemma-")), "eraser.mjs");
  const entryPoints = [join(import.meta.dirname, "../../store/eraser-process.ts")];
  await build({ entryPoints, outfile: program, ...FROM_SOURCES });
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
  rmSync(join(program, ".."), { recursive: true, force: true });
});

const newPath = () => join(folder, `${++files}.db`);

/** Words that stand nowhere else. An index shares the beginnings of words, so it is their ends that are looked for. */
const canaries = (count: number) => Array.from({ length: count }, (_, index) => `${index}qzkanarieqz${index * 7919}x`);

/** How many of the words are left in each file of a database, by their ends. */
function hits(path: string, words: readonly string[]): Record<string, number> {
  const names = ["", "-wal", "-journal"].filter((suffix) => existsSync(path + suffix));
  return Object.fromEntries(
    names.map((suffix) => {
      const text = readFileSync(path + suffix, "latin1").toLowerCase();
      return [suffix || "file", words.filter((word) => text.includes(word.slice(-12))).length];
    }),
  );
}

/** 500 words of Ada's in everything that is kept for her, among the conversations of others. */
async function fill(manager: SessionManager, words: readonly string[]): Promise<void> {
  const left = [...words];
  const word = () => left.pop() as string;
  const ada = manager.forUser("ada");
  await ada.create(word(), { id: "ada", metadata: { note: word() }, model: word() });
  const session = ada.getSession("ada");
  for (let turn = 0; turn < 40; turn += 1) {
    await session.appendMessage(message(`m${turn}`, `${word()} ${"and so on ".repeat(turn * 20)} ${word()}`));
    await session.appendMessage({ ...imageMessage(`i${turn}`, turn), metadata: { name: word() } });
    await ada.store.records.set({ sessionId: "ada", label: "runs" }, `${turn}`, new TextEncoder().encode(word()));
    for (let other = 0; other < 5; other += 1) {
      await manager.append(`other-${other}`, message(`${turn}`, `said by others ${"again ".repeat(turn)}`));
    }
  }
  await session.updateMessage(message("m3", word()));
  await session.addCompaction(word(), "m0", "m9");
  for (let version = 0; version < 20; version += 1) {
    await session.replaceContextBlock("memory", word());
    await session.replaceContextBlock("mine", word());
  }
  const facts = new AgentSearchProvider(ada.store, { scope: "user" });
  const bound = facts.forSession("ada");
  while (left.length > 2) await bound.set(`key ${word()}`, word());
  await session.freezeSystemPrompt();
  await manager.addUsage("ada", 1, 1, 0, word());
  while (left.length > 0) await session.appendMessage(message(`last${left.length}`, word()));
}

const managerOf = (path: string) =>
  SessionManager.create(sqlite(path, { synchronous: "normal" }))
    .withContext("memory")
    .withContext("mine", { scope: "user" })
    .withCachedPrompt();

async function filled(path: string): Promise<{ manager: SessionManager; words: string[] }> {
  const words = canaries(500);
  const manager = managerOf(path);
  await manager.forUser("ada").getSession("ada").freezeSystemPrompt();
  await fill(manager, words);
  return { manager, words };
}

describe("what was erased", () => {
  it("is gone from the file and its log, when a user is erased", async () => {
    const path = newPath();
    const { manager, words } = await filled(path);
    const before = hits(path, words);
    expect((before.file ?? 0) + (before["-wal"] ?? 0)).toBeGreaterThan(490);
    const { deleted, remaining, residue } = await manager.eraseUser("ada");
    expect(Object.entries(deleted).filter(([, rows]) => rows === 0)).toEqual([
      ["branches", 0],
      ["vectors", 0],
    ]);
    expect([residue, new Set(Object.values(remaining))]).toEqual(["none", new Set([0])]);
    expect(hits(path, words)).toEqual({ file: 0, "-wal": 0 });
    expect((await manager.search("others")).length).toBe(20);
    expect((await manager.store.check?.())?.problems).toEqual([]);
    await manager.store.close();
    expect(hits(path, words)).toEqual({ file: 0 });
  });

  it("is gone when sessions are deleted, and the words of their user's memory stay", async () => {
    const path = newPath();
    const { manager, words } = await filled(path);
    expect((await manager.delete("ada", { scrub: false })).residue).toBe("pending");
    expect(hits(path, words)).not.toEqual({ file: 0, "-wal": 0 });
    await manager.store.deleteMemory({ sessionId: "", scope: { key: "none" } });
    expect((await manager.forUser("ada").store.deleteMemory({ sessionId: "", scope: "user" })).deleted.blocks).toBe(1);
    expect(await manager.scrub()).toBe("none");
    expect(hits(path, words)).toEqual({ file: 0, "-wal": 0 });
    await manager.store.close();
  });

  it("is pending while a reader holds the log, and gone after a later call", async () => {
    const path = newPath();
    const { manager, words } = await filled(path);
    const reader = new Database(path);
    reader.exec("BEGIN");
    reader.prepare("SELECT count(*) FROM assistant_messages").get();
    const { residue, remaining } = await manager.eraseUser("ada");
    expect([residue, remaining.messages]).toEqual(["pending", 0]);
    expect(await manager.scrub()).toBe("pending");
    reader.exec("COMMIT");
    expect((await manager.eraseUser("ada")).residue).toBe("none");
    expect(hits(path, words)).toEqual({ file: 0, "-wal": 0 });
    reader.close();
    await manager.store.close();
  });

  it("is gone from an index that nobody keeps up to date", async () => {
    const path = newPath();
    const { manager, words } = await filled(path);
    await manager.store.close();
    const unsearched = SessionManager.create(sqlite(path, { search: false }));
    expect((await unsearched.eraseUser("ada")).residue).toBe("none");
    expect(hits(path, words)).toEqual({ file: 0, "-wal": 0 });
    await unsearched.store.close();
    const again = managerOf(path);
    expect((await again.search("others")).length).toBe(20);
    await again.store.close();
  });

  it("is left to a later call in a transaction of the program's own", async () => {
    const path = newPath();
    const database = new Database(path);
    const manager = SessionManager.create(sqlite(database));
    await manager.append("a", message("m", "kanarie"));
    database.exec("BEGIN");
    expect((await manager.delete("a")).residue).toBe("pending");
    database.exec("COMMIT");
    expect([await manager.scrub(), database.pragma("busy_timeout", { simple: true })]).toEqual(["none", 5000]);
    await manager.store.close();
  });

  it("is gone from every table where the host keeps the files", async () => {
    const database = new Database(":memory:");
    const sql = (strings: TemplateStringsArray, ...values: unknown[]) => {
      const statement = database.prepare(strings.join("?"));
      return statement.reader ? statement.all(...values) : [statement.run(...values)].slice(1);
    };
    const manager = SessionManager.create({ sql, transactionSync: <T>(work: () => T) => work() });
    for (const id of ["a", "b"]) await manager.append(id, message("m", `kanarienvogel ${id}`));
    await manager.delete("b", { scrub: false });
    const terms = database
      .prepare("SELECT count(*) FROM assistant_fts_data WHERE instr(block, 'kanarienvogel')")
      .pluck();
    expect((await manager.delete("a")).residue).toBe("unknown");
    expect(terms.get()).toBe(0);
  });

  it("is erased as a whole by a second call, wherever the first was killed", async () => {
    for (const delay of [0, 10, 30, 70, 150]) {
      const path = newPath();
      const { manager, words } = await filled(path);
      const mine = manager.forUser("ada");
      for (let chat = 0; chat < 30; chat += 1) await mine.append(`ada-${chat}`, message("m", words[chat]));
      const messages = await manager.store.session("ada").count();
      await manager.store.close();
      await killed(path, delay);
      const after = managerOf(path);
      // A session is there as a whole, or not at all.
      const left = (await after.listPage({ userId: "ada", limit: 100 })).sessions;
      for (const { id } of left) expect(await after.store.session(id).count()).toBe(id === "ada" ? messages : 1);
      expect((await after.eraseUser("ada")).residue).toBe("none");
      expect(hits(path, words)).toEqual({ file: 0, "-wal": 0 });
      expect((await after.store.check?.())?.problems).toEqual([]);
      await after.store.close();
    }
  });
});

/** Starts erasing in another process and kills it some milliseconds after it has begun. */
function killed(path: string, delay: number): Promise<void> {
  const child = spawn(process.execPath, [program, path], { stdio: ["ignore", "pipe", "inherit"] });
  child.stdout.once("data", () => setTimeout(() => child.kill("SIGKILL"), delay));
  return new Promise((resolve) => child.once("close", () => resolve()));
}

it("two scrubs at once leave a store as patient as it was", async () => {
  const path = newPath();
  const store = sqlite(path, { synchronous: "normal", busyTimeout: 1000 });
  await store.session("s").append([message("a")]);
  await Promise.all([store.scrub?.({}), store.scrub?.({})]);
  const other = new Database(path);
  other.exec("BEGIN IMMEDIATE");
  const start = performance.now();
  await expect(store.session("s").append([message("b")])).rejects.toMatchObject({ code: "STORE_LOCKED" });
  expect(performance.now() - start).toBeGreaterThan(900);
  other.close();
  await store.close();
});
