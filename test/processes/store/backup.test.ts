import { type ChildProcess, spawn } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { build } from "esbuild";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { FROM_SOURCES } from "../../../scripts/entry-points.mjs";
import type { Task } from "../../store/writer-process.js";

const root = join(import.meta.dirname, "../../..");
const cache = join(root, "node_modules/.cache");
const started = new Set<ChildProcess>();
let program = "";
let folder = "";

beforeAll(async () => {
  mkdirSync(cache, { recursive: true });
  program = join(mkdtempSync(join(cache, "stemma-")), "writer.mjs");
  const entryPoints = [join(import.meta.dirname, "../../store/writer-process.ts")];
  await build({ entryPoints, outfile: program, ...FROM_SOURCES });
});

// One for each attempt, since a backup overwrites nothing.
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "stemma-backup-"));
});

afterEach(() => {
  for (const child of started) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

afterAll(() => {
  rmSync(join(program, ".."), { recursive: true, force: true });
});

interface Writer {
  readonly child: ChildProcess;
  readonly acknowledged: string[];
  readonly errors: () => string;
  readonly ended: Promise<void>;
}

function start(path: string, task: Task): Writer {
  const child = spawn(process.execPath, [program, path, JSON.stringify(task)], { stdio: ["ignore", "pipe", "pipe"] });
  started.add(child);
  const acknowledged: string[] = [];
  let rest = "";
  let errors = "";
  child.stderr.on("data", (chunk) => {
    errors += chunk;
  });
  child.stdout.on("data", (chunk) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    acknowledged.push(...lines);
  });
  const ended = new Promise<void>((resolve) => child.on("close", () => resolve()));
  return { child, acknowledged, errors: () => errors, ended };
}

async function idsOf(path: string): Promise<string[]> {
  const store = sqlite(path);
  try {
    expect(await store.check?.()).toMatchObject({ ok: true, problems: [] });
    return (await store.session("").tree()).map(({ id }) => id);
  } finally {
    await store.close();
  }
}

/** As docs/stores/sqlite.md says it. */
function restore(backup: string, path: string): void {
  copyFileSync(backup, `${path}.restored`);
  for (const ending of ["-wal", "-shm"]) rmSync(path + ending, { force: true });
  renameSync(`${path}.restored`, path);
}

const endless = (prefix: string): Task => ({ do: "append", prefix, count: 1_000_000 });

it("a backup under load holds whatever was acknowledged before it, and nothing by halves", async () => {
  const path = join(folder, "load.db");
  const writers = ["a", "b", "c"].map((prefix) => start(path, endless(prefix)));
  await expect.poll(() => writers.every(({ acknowledged }) => acknowledged.length > 20)).toBe(true);
  const store = sqlite(path, { busyTimeout: 30_000 });
  const backups: { copy: string; before: string[] }[] = [];
  for (let round = 0; round < 4; round += 1) {
    await wait(100);
    const before = writers.flatMap(({ acknowledged }) => acknowledged);
    const copy = join(folder, `load-${round}.db`);
    await store.backup(copy);
    backups.push({ copy, before });
  }
  await store.close();
  for (const { child } of writers) child.kill("SIGKILL");
  for (const { ended } of writers) await ended;
  const all = await idsOf(path);
  for (const { copy, before } of backups) {
    const ids = await idsOf(copy);
    expect(before.filter((id) => !ids.includes(id))).toEqual([]);
    // One state of the chain: nothing later without what came before it.
    expect(all.slice(0, ids.length)).toEqual(ids);
  }
});

it("a backup that is copied back is the store again, also under writers that go on", async () => {
  const path = join(folder, "restored.db");
  const first = start(path, endless("a"));
  await expect.poll(() => first.acknowledged.length > 50).toBe(true);
  const store = sqlite(path, { busyTimeout: 30_000 });
  const copy = join(folder, "restored-copy.db");
  await store.backup(copy);
  await store.close();
  const saved = await idsOf(copy);
  const before = first.acknowledged.length;
  await expect.poll(() => first.acknowledged.length > before + 20).toBe(true);
  restore(copy, path);
  // Whoever wrote to the file that is gone is told so, and acknowledges nothing more.
  await first.ended;
  expect(first.errors()).toContain("STORE_REPLACED");
  expect(await idsOf(path)).toEqual(saved);
  const second = start(path, { do: "append", prefix: "later", count: 20 });
  await second.ended;
  expect(await idsOf(path)).toEqual([...saved, ...second.acknowledged]);
  expect(second.acknowledged.length).toBe(20);
  // And over what a killed writer leaves, its log too.
  const third = start(path, endless("c"));
  await expect.poll(() => third.acknowledged.length > 20).toBe(true);
  third.child.kill("SIGKILL");
  await third.ended;
  restore(copy, path);
  expect(await idsOf(path)).toEqual(saved);
});
