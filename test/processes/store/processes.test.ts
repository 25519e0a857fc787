import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { build } from "esbuild";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { Session } from "../../../packages/stemma/src/session.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { FROM_SOURCES } from "../../../scripts/entry-points.mjs";
import type { Task } from "../../store/writer-process.js";

const root = join(import.meta.dirname, "../../..");
const folder = mkdtempSync(join(tmpdir(), "stemma-processes-"));
// Inside the project, where the program finds its packages.
const cache = join(root, "node_modules/.cache");
const started = new Set<ChildProcess>();
let program = "";
let files = 0;

beforeAll(async () => {
  mkdirSync(cache, { recursive: true });
  program = join(mkdtempSync(join(cache, "stemma-")), "writer.mjs");
  await build({
    entryPoints: [join(import.meta.dirname, "../../store/writer-process.ts")],
    outfile: program,
    ...FROM_SOURCES,
  });
});

afterEach(() => {
  for (const child of started) child.kill("SIGKILL");
  started.clear();
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
  rmSync(join(program, ".."), { recursive: true, force: true });
});

interface Writer {
  readonly child: ChildProcess;
  /** What was acknowledged so far. */
  readonly lines: string[];
  readonly ended: Promise<void>;
}

function start(path: string, task: Task): Writer {
  const child = spawn(process.execPath, [program, path, JSON.stringify(task)], { stdio: ["ignore", "pipe", "pipe"] });
  started.add(child);
  const lines: string[] = [];
  let text = "";
  let errors = "";
  child.stderr.on("data", (chunk) => {
    errors += chunk;
  });
  child.stdout.on("data", (chunk) => {
    text += chunk;
    // A line that the process was killed in the middle of is none.
    const whole = text.slice(0, text.lastIndexOf("\n") + 1);
    text = text.slice(whole.length);
    lines.push(...whole.split("\n").filter(Boolean));
  });
  const ended = new Promise<void>((resolve, reject) => {
    child.on("close", (code, signal) => {
      if (code === 0 || signal === "SIGKILL") resolve();
      else reject(new Error(`The writer ended with ${code}: ${errors}`));
    });
  });
  return { child, lines, ended };
}

const newPath = () => join(folder, `${++files}.db`);

const inFour = (task: (prefix: string) => Task, path: string) =>
  Promise.all(["a", "b", "c", "d"].map((prefix) => start(path, task(prefix)).ended));

/** Lets a writer work until it has acknowledged something and a while longer, then kills it without warning. */
async function killAmidst({ child, lines, ended }: Writer, milliseconds: number): Promise<void> {
  while (lines.length === 0 && child.exitCode === null) await new Promise((resolve) => setTimeout(resolve, 5));
  await new Promise((resolve) => setTimeout(resolve, milliseconds));
  child.kill("SIGKILL");
  await ended;
}

function checkFile(path: string): void {
  const database = new Database(path);
  expect(database.pragma("integrity_check", { simple: true })).toBe("ok");
  database.exec("INSERT INTO assistant_fts (assistant_fts) VALUES ('integrity-check')");
  database.close();
}

describe("several processes on one file", () => {
  it("form one chain of 4 × 50 appends, with every message once, and the tables made once", async () => {
    const path = newPath();
    await inFour((prefix) => ({ do: "append", prefix, count: 50 }), path);
    const store = sqlite(path);
    const session = Session.create(store);
    const ids = (await session.getHistory()).map(({ id }) => id);
    expect(ids.length).toBe(200);
    expect(new Set(ids).size).toBe(200);
    expect((await session.getTree()).map(({ parentId }) => parentId)).toEqual([null, ...ids.slice(0, -1)]);
    for (const prefix of ["a", "b", "c", "d"]) {
      const own = ids.filter((id) => id.startsWith(prefix)).map((id) => Number(id.slice(1)));
      expect(own).toEqual(own.slice().sort((x, y) => x - y));
    }
    await store.close();
    checkFile(path);
  });

  it("keep 1,000 of 1,000 concurrent appends to a block", async () => {
    const path = newPath();
    await inFour((prefix) => ({ do: "block", prefix, count: 250 }), path);
    const store = sqlite(path);
    const session = Session.create(store).withContext("memory");
    await session.tools();
    const block = session.getContextBlock("memory");
    const ids = block?.content.split(";").filter(Boolean) ?? [];
    expect([ids.length, new Set(ids).size, block?.version]).toEqual([1000, 1000, 1000]);
    await store.close();
  });
});

describe("a process that is killed", () => {
  it.each([20, 90, 200])("amid appends loses no acknowledged message (after %i ms)", async (milliseconds) => {
    const path = newPath();
    const writer = start(path, { do: "append", prefix: "m", count: 1_000_000 });
    await killAmidst(writer, milliseconds);
    const store = sqlite(path);
    const session = Session.create(store);
    const ids = (await session.getHistory()).map(({ id }) => id);
    expect(ids.slice(0, writer.lines.length)).toEqual(writer.lines);
    // The one that it was killed in the middle of is there whole, or is not there.
    expect(ids.length - writer.lines.length).toBeLessThanOrEqual(1);
    await session.appendMessage({ id: "after", role: "user", parts: [] });
    expect((await session.getLatestLeaf())?.id).toBe("after");
    await store.close();
    checkFile(path);
  });

  it.each([60, 250])("amid imports leaves whole trees and no part of one (after %i ms)", async (milliseconds) => {
    const path = newPath();
    const writer = start(path, { do: "import", prefix: "s", messages: 300 });
    await killAmidst(writer, milliseconds);
    const store = sqlite(path);
    const { sessions } = await store.sessions.list({});
    const ids = sessions.map(({ id }) => id);
    for (const id of writer.lines) expect(ids).toContain(id);
    for (const id of ids) expect((await store.session(id).tree()).length).toBe(300);
    await store.close();
    checkFile(path);
  });
});
