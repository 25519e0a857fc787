// One file, because the damage, the reads after it and the judgement of a read go by the same image.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type Database from "better-sqlite3";
import { afterAll, expect, it, vi } from "vitest";
import { StemmaError } from "../../../packages/model/src/errors.js";
import { Session, SessionManager } from "../../../packages/stemma/src/session.js";
import type { CheckReport, Store } from "../../../packages/store/src/contract/store.js";
import { sqliteError } from "../../../packages/store/src/sqlite/error.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { openDatabase } from "../../store/databases.js";

// Damage to a database of every kind of row: a bit of the file, or a value of a row. Whatever it is, a read or a check notices it, or
// what is read is what was written; and a repair loses no message that could be read. Values without a second copy may be others
// without a notice: of 5,000 changes 275 hit one. More of it:
// STEMMA_FLIPS=5000 STEMMA_FLIPS_SEED=1 npx vitest run test/processes/store/flips.test.ts

const FLIPS = Number(process.env.STEMMA_FLIPS ?? 240);
// The suite looks at the same images each time; `STEMMA_FLIPS=5000 npx vitest run store/flips` at others.
const FIXED_SEED = 100_106;
const anySeed = () => (process.env.STEMMA_FLIPS === undefined ? FIXED_SEED : Math.floor(Math.random() * 1e9));
const FIRST_SEED = Number(process.env.STEMMA_FLIPS_SEED ?? anySeed());

const folder = mkdtempSync(join(tmpdir(), "stemma-flips-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const say = (id: string, text = `the ${id} said something about gardens`) => ({
  id,
  role: id.length % 2 === 0 ? "user" : "assistant",
  parts: [{ type: "text", text }],
});
const picture = (id: string, letter: string) => ({
  id,
  role: "user",
  createdAt: new Date(1_700_000_000_000),
  parts: [{ type: "file", mediaType: "image/png", url: `data:image/png;base64,${letter.repeat(3000)}` }],
});

// The same bytes each time, so that a seed always does the same damage.
async function makeImage(): Promise<Buffer> {
  let ids = 0;
  vi.useFakeTimers({ toFake: ["Date"], now: 1_700_000_000_000 });
  const uuid = vi.spyOn(crypto, "randomUUID");
  uuid.mockImplementation(() => `00000000-0000-4000-8000-${String(++ids).padStart(12, "0")}`);
  try {
    return await writeImage();
  } finally {
    uuid.mockRestore();
    vi.useRealTimers();
  }
}

async function writeImage(): Promise<Buffer> {
  const path = join(folder, "whole.db");
  const database = openDatabase(path);
  const store = sqlite(database);
  const manager = SessionManager.create(store).withContext("memory").withCachedPrompt();
  const long = manager.getSession("long");
  await long.appendAll(Array.from({ length: 24 }, (_, index) => say(`long-${index}`)));
  await long.addCompaction("They spoke of gardens.", "long-2", "long-9");
  await long.addCompaction("They spoke of gardens and more.", "long-12", "long-15");
  await long.replaceContextBlock("memory", "likes tea");
  await long.freezeSystemPrompt();
  const tree = manager.getSession("tree");
  await tree.appendAll(["root", "a1", "a2", "a3"].map((id) => say(id)));
  await tree.appendAll(
    ["b1", "b2"].map((id) => say(id)),
    "root",
  );
  await tree.appendAll(
    ["c1", "c2"].map((id) => say(id)),
    "b1",
  );
  await tree.appendMessage(say("other root"), null);
  await tree.appendAll(
    ["d1", "d2", "d3"].map((id) => say(id)),
    "a3",
  );
  await tree.addCompaction("The branch.", "b1", "b2");
  await tree.deleteMessages(["a2", "c1"]);
  await tree.updateMessage(say("b2", "what was edited"));
  await tree.setActiveLeaf("b2");
  const media = manager.getSession("media");
  await media.appendAll([picture("one", "A"), say("word"), picture("two", "A"), picture("three", "B")]);
  await store.sessions.fork("long", "long-17", { id: "the fork", name: "fork" });
  await store.sessions.fork("media", "three", { id: "another", name: "another" });
  await manager.create("empty", { id: "empty" });
  const stored = store.session("long");
  await stored.changeSkills({ type: "load", label: "skills", key: "a", toolCallId: "call-1" });
  await stored.changeSkills({ type: "unload", label: "skills", key: "b", toolCallIds: [null] });
  await manager.addUsage("long", 10, 20, 0.5);
  for (const key of ["sky", "sea"]) {
    await store.entries.set({ sessionId: "long", label: "facts" }, { key, content: `the ${key} is blue` });
  }
  database.pragma("wal_checkpoint(TRUNCATE)");
  database.pragma("journal_mode = DELETE");
  database.close();
  return readFileSync(path);
}

interface Seen {
  /** Everything that reads give. */
  readonly all: unknown;
  /** Messages, their order and parents; how many of all else: what has no second copy may be another text. */
  readonly shape: unknown;
}

/** What every read gives; throws what any of them does. */
async function readAll(store: Store, ids: readonly string[]): Promise<Seen> {
  const manager = SessionManager.create(store).withContext("memory").withCachedPrompt();
  const infos = await manager.list();
  const all: unknown[] = [infos];
  const shape: unknown[] = [infos.length];
  for (const id of ids) {
    const session = Session.create(store).forSession(id);
    const tree = await session.getTree();
    const parents = new Set(tree.map(({ parentId }) => parentId));
    const leaves = tree.filter((node) => !parents.has(node.id)).map((node) => node.id);
    const paths = [];
    for (const leaf of [undefined, ...leaves]) paths.push(await session.getHistory(leaf));
    const messages = [];
    const children = [];
    for (const node of tree) {
      messages.push(await session.getMessage(node.id));
      children.push((await session.getBranches(node.id)).map((child) => child.id));
    }
    const compactions = await session.getCompactions();
    const originals: string[][] = [];
    for (const each of compactions)
      originals.push((await session.expandCompaction(each.id)).map((message) => message.id));
    const found = (await session.search("gardens edited", { limit: 50 })).map((hit) => hit.id).sort();
    const blocks = [await store.blocks.get({ sessionId: id, kind: "block", label: "memory" })];
    blocks.push(await store.blocks.get({ sessionId: id, kind: "prompt", label: "" }));
    const skills = await store.session(id).skills();
    const entries = await store.entries.search({ sessionId: id, label: "facts" }, "blue", { limit: 9 }).catch(() => []);
    all.push([tree, paths, messages, children, compactions, originals, found, blocks, skills, entries]);
    const named = (list: readonly { id: string }[]) =>
      list.map((message) => (message.id.startsWith("compaction_") ? "summary" : message.id));
    shape.push([
      tree.map((node) => [node.id, node.parentId, node.role]),
      // Which leaf is the active one has no second copy.
      paths.slice(1).map(named),
      messages.map((message) => message?.id),
      children,
      // Nor has the order of summaries.
      compactions.map((each, index) => JSON.stringify([each.fromMessageId, each.toMessageId, originals[index]])).sort(),
    ]);
  }
  return { all: JSON.parse(JSON.stringify(all)), shape: JSON.parse(JSON.stringify(shape)) };
}

const SESSIONS = ["long", "tree", "media", "the fork", "another", "empty"];

class Random {
  constructor(private state: number) {}
  next(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let t = this.state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }
  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }
  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }
}

function flipBit(image: Buffer, random: Random): string {
  const at = random.below(image.length);
  const bit = random.below(8);
  image[at] = (image[at] as number) ^ (1 << bit);
  return `bit ${bit} of byte ${at}`;
}

type Value = string | number | null;

/** Changes a value of a row of any table, as a flipped bit, a lost byte or a wrong hand might. */
function changeValue(database: Database.Database, random: Random): string {
  const tables = database
    .prepare(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE '%fts%'",
    )
    .pluck()
    .all() as string[];
  for (;;) {
    const table = random.pick([...tables, "assistant_messages", "assistant_messages", "assistant_fts"]);
    if (table === "assistant_fts") {
      const rows = database.prepare("SELECT rowid FROM assistant_fts").pluck().all() as number[];
      const row = random.pick(rows);
      database.prepare("DELETE FROM assistant_fts WHERE rowid = ?").run(row);
      return `index row ${row} deleted`;
    }
    const columns = database.prepare("SELECT name FROM pragma_table_info(?)").pluck().all(table) as string[];
    const column = random.pick(columns);
    const rows = database.prepare(`SELECT * FROM ${table}`).all() as Record<string, Value>[];
    if (rows.length === 0 || table === "assistant_schema") continue;
    const row = random.pick(rows);
    const change = random.below(6);
    const value =
      change === 0 ? (random.pick(rows)[column] as Value) : change === 1 ? null : changed(row[column] as Value, random);
    if (value === row[column]) continue;
    const where = columns.map((name) => `"${name}" IS ?`).join(" AND ");
    try {
      database
        .prepare(`UPDATE ${table} SET "${column}" = ? WHERE ${where}`)
        .run(value, ...columns.map((name) => row[name]));
    } catch {
      // The table's own constraints refuse it.
      continue;
    }
    return `${table}.${column} of ${JSON.stringify(row).slice(0, 120)} became ${JSON.stringify(value)?.slice(0, 80)}`;
  }
}

function changed(value: Value, random: Random): Value {
  if (value === null) return random.pick([0, 1, "x", 268_435_457]);
  if (typeof value === "number") {
    return random.pick([value ^ (1 << random.below(8)), value + 1, value - 1, value * 2, 0, -1, value + 2 ** 28, "x"]);
  }
  const at = random.below(value.length);
  const code = value.charCodeAt(at) ^ (1 << random.below(7));
  return random.pick([
    value.slice(0, at) + String.fromCharCode(code || 32) + value.slice(at + 1),
    value.slice(0, at),
    "",
  ]);
}

/** The ids of the messages whose rows can be decoded, whatever else is wrong. */
function readableRows(database: Database.Database): string[] {
  const rows = database.prepare("SELECT content FROM assistant_messages").pluck().all() as unknown[];
  return rows
    .flatMap((content) => {
      try {
        const message = JSON.parse(String(content));
        return Array.isArray(message.parts) ? [JSON.stringify(message.parts)] : [];
      } catch {
        return [];
      }
    })
    .sort();
}

it(
  "damage is noticed, and a repair loses nothing that can be read",
  async () => {
    const whole = await makeImage();
    const path = join(folder, "flipped.db");
    const truth = await withStore(whole, (store) => readAll(store, SESSIONS));
    await withStore(whole, async (store) => expect(await store.check?.()).toMatchObject({ ok: true, problems: [] }));
    const failures: string[] = [];
    const counts = { same: 0, read: 0, checked: 0, onlyCopy: 0, mended: 0, left: 0, unopened: 0 };
    for (let seed = FIRST_SEED; seed < FIRST_SEED + FLIPS; seed += 1) {
      const random = new Random(seed);
      const image = Buffer.from(whole);
      let what = seed % 2 === 0 ? flipBit(image, random) : "";
      writeFileSync(path, image);
      try {
        await examine(
          (described) => {
            what = described || what;
          },
          random,
          seed,
        );
      } catch (error) {
        failures.push(`seed ${seed}: ${what}: ${error instanceof Error ? error.message.slice(0, 2_000) : error}`);
      }
    }
    console.log(`flips of ${FLIPS} images: ${JSON.stringify(counts)} from seed ${FIRST_SEED}`);
    expect(failures).toEqual([]);

    async function examine(tell: (what: string) => void, random: Random, seed: number): Promise<void> {
      let database: Database.Database | undefined;
      try {
        let store: Store;
        try {
          database = openDatabase(path);
          if (seed % 2 === 1) tell(changeValue(database, random));
          store = sqlite(database);
          await store.migrate();
        } catch (error) {
          // It is the damage that stands in the way, not an image before it that is still open.
          expect(sqliteError(error)).not.toMatchObject({ code: "STORE_LOCKED" });
          counts.unopened += 1;
          return;
        }
        const seen = await readAll(store, SESSIONS).catch((error) => error as Error);
        if (seen instanceof Error && !StemmaError.isInstance(seen)) throw seen;
        const report = (await store.check?.()) as CheckReport;
        if (seen instanceof Error) counts.read += 1;
        else if (!report.ok) counts.checked += 1;
        else if (JSON.stringify(seen.all) === JSON.stringify(truth.all)) counts.same += 1;
        else {
          expect(seen.shape).toEqual(truth.shape);
          counts.onlyCopy += 1;
        }
        // What a read tells of, the check finds too.
        if (seen instanceof Error) expect(report.ok).toBe(false);
        if (report.ok) return;
        await repair(store, database, report);
      } finally {
        database?.close();
        for (const file of [path, `${path}-wal`, `${path}-shm`]) rmSync(file, { force: true });
      }
    }

    async function repair(store: Store, database: Database.Database, found: CheckReport): Promise<void> {
      const isBroken = found.problems.some(({ rule }) => rule === "engine");
      const before = isBroken ? [] : readableRows(database);
      const report = (await store.check?.({ repair: true })) as CheckReport;
      if (report.problems.some(({ rule, repaired }) => rule === "engine" && !repaired)) {
        counts.left += 1;
        return;
      }
      const after = readableRows(database);
      const lost = before.filter((parts) => !after.includes(parts));
      expect(lost).toEqual([]);
      expect(after.length).toBeGreaterThanOrEqual(before.length);
      const left = report.problems.filter(({ repaired }) => !repaired);
      // What cannot be read, or is not what it was, stays and is told of.
      expect(left.filter(({ rule }) => !["content", "media", "block", "entry"].includes(rule))).toEqual([]);
      if (left.length === 0) counts.mended += 1;
      else counts.left += 1;
      const again = (await store.check?.()) as CheckReport;
      expect(again.problems.map(({ message }) => message)).toEqual(left.map(({ message }) => message));
      await everyMessageIsOnAPath(store, database);
    }
  },
  60_000 + FLIPS * 1_000,
);

async function everyMessageIsOnAPath(store: Store, database: Database.Database): Promise<void> {
  const rows = database.prepare("SELECT count(*) FROM assistant_messages").pluck().get() as number;
  let reached = 0;
  for (const { id } of await SessionManager.create(store).list()) {
    const session = Session.create(store).forSession(id);
    const tree = await session.getTree();
    reached += tree.length;
    const parents = new Set(tree.map(({ parentId }) => parentId));
    for (const node of tree) {
      if (!parents.has(node.id)) await session.getHistory(node.id, { onCorrupt: "skip" });
    }
  }
  expect(reached).toBe(rows);
}

async function withStore<T>(image: Buffer, work: (store: Store) => Promise<T>): Promise<T> {
  const path = join(folder, "copy.db");
  writeFileSync(path, image);
  const store = sqlite(openDatabase(path));
  try {
    return await work(store);
  } finally {
    await store.close();
    rmSync(path, { force: true });
  }
}
