import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { buildCommand, temporaryFolder } from "../../cli/run.js";
import { patience } from "../../helpers/patience.js";

const folder = temporaryFolder();
const GOOD = '{"role":"user","content":"Hi"}\n';
let program: string;

beforeAll(async () => {
  program = await buildCommand(folder);
});

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Imports into a new database. `given` is written to standard input, which stays open; then the signals are sent. */
async function importing(file: string, given = "", ...signals: NodeJS.Signals[]): Promise<Ended & { db: string }> {
  const db = join(mkdtempSync(join(folder, "db-")), "x.db");
  const child = spawn(process.execPath, [program, "--db", db, "import", file]);
  const ended = { out: "", err: "" };
  child.stdout.on("data", (text) => {
    ended.out += text;
  });
  child.stderr.on("data", (text) => {
    ended.err += text;
  });
  // It may end before it has read all.
  child.stdin.on("error", () => {});
  child.stdin.write(given);
  const code = new Promise<number | null>((end) => child.once("close", end));
  for (const signal of signals) {
    // From then on it reads.
    await expect.poll(() => existsSync(db)).toBe(true);
    await new Promise((resolve) => setTimeout(resolve, patience(1000)));
    child.kill(signal);
  }
  return { code: await code, ...ended, db };
}

const run = (db: string, ...args: string[]) =>
  spawnSync(process.execPath, [program, "--db", db, "--json", ...args], { encoding: "utf8" });

const stopped = (signal: string) => `stemma: Stopped by ${signal}. What was told is stored; import again to go on.\n`;

describe("an import of what has no end", () => {
  it("ends with a signal while it waits for a pipe or for standard input", async () => {
    const pipe = join(folder, "pipe");
    spawnSync("mkfifo", [pipe]);
    expect(await importing(pipe, "", "SIGTERM")).toMatchObject({ code: 143, out: "", err: stopped("SIGTERM") });
    expect(await importing("-", "", "SIGINT")).toMatchObject({ code: 130, out: "", err: stopped("SIGINT") });
    const line = '{"role":"user","content":"';
    expect(await importing("-", line, "SIGTERM")).toMatchObject({ code: 143, out: "", err: stopped("SIGTERM") });
  });

  it("keeps and tells what it stored before the signal", async () => {
    const list = `[${GOOD}]\n[{"role":"user","content":"More`;
    const { code, out, err, db } = await importing("-", list, "SIGTERM");
    expect([code, out, err]).toEqual([143, expect.stringContaining("1 of 1 message added"), stopped("SIGTERM")]);
    expect(JSON.parse(run(db, "sessions").stdout).sessions).toMatchObject([{ messages: 1 }]);
    expect(JSON.parse(run(db, "check").stdout)).toMatchObject({ ok: true });
  });

  it("refuses zeros, and lines of nothing, at once", async () => {
    expect(await importing("/dev/zero")).toMatchObject({ code: 1, err: expect.stringContaining("not text in UTF-8") });
    const { code, out, err } = await importing("-", GOOD + "y\n".repeat(20_000));
    expect([code, err]).toEqual([1, expect.stringContaining("10001 values cannot be read")]);
    expect(out).toContain("1 of 1 message added");
  });

  it("waits for the writer of a pipe, and imports 2,999 good lines around a bad one", async () => {
    const pipe = join(folder, "late");
    spawnSync("mkfifo", [pipe]);
    const ending = importing(pipe);
    await new Promise((resolve) => setTimeout(resolve, 300));
    const lines = Buffer.from(GOOD.repeat(3000));
    lines[GOOD.length * 1499 + 27] = 0xff;
    writeFileSync(pipe, lines);
    const { code, out } = await ending;
    expect(code).toBe(0);
    expect(out).toContain(
      "2,999 of 2,999 messages added, 1 left out:\n  line 1500: not UTF-8 (0xff, byte 28 of line 1500)",
    );
  });
});

describe("an export that is ended", () => {
  it("leaves no half of its file, and no draft of it", async () => {
    const home = mkdtempSync(join(folder, "export-"));
    const db = join(home, "x.db");
    const list = join(folder, "list.jsonl");
    writeFileSync(list, GOOD.repeat(20_000));
    expect(run(db, "import", list).status).toBe(0);
    const child = spawn(process.execPath, [program, "--db", db, "export", "--all", "-o", join(home, "out.jsonl")]);
    const ended = new Promise((end) => child.once("close", (code) => end(code)));
    const drafts = () => readdirSync(home).filter((name) => /tmp$|jsonl$/.test(name));
    await expect.poll(drafts, { interval: 2 }).toHaveLength(1);
    child.kill("SIGTERM");
    expect(await ended).toBe(143);
    expect(drafts()).toEqual([]);
  });
});
