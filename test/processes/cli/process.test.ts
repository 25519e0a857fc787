import { spawn, spawnSync } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { buildCommand, commandLine, temporaryFolder } from "../../cli/run.js";

// The command as a process of its own: what pipes, signals and file modes do cannot be seen from inside.
const folder = temporaryFolder();
let program: string;

beforeAll(async () => {
  program = await buildCommand(folder);
});

function stemma(args: string[], options: { input?: string; env?: Record<string, string> } = {}) {
  const env = { ...process.env, ...options.env };
  return spawnSync(process.execPath, [program, ...args], { encoding: "utf8", input: options.input ?? "", env });
}

function sessionsFile(name: string, sessions: number, messages: number): string {
  const path = join(folder, name);
  const text = "Some words to store. ".repeat(20);
  const all = Array.from({ length: sessions }, (_, number) => ({
    id: `s${number}`,
    messages: Array.from({ length: messages }, (_, index) => ({ role: "user", content: `${number}/${index} ${text}` })),
  }));
  writeFileSync(path, JSON.stringify(all));
  return path;
}

describe("the command as a process", () => {
  it("knows its version, and where it is called the wrong way", () => {
    expect(stemma(["--version"])).toMatchObject({ status: 0, stdout: "7.8.9\n", stderr: "" });
    expect(stemma(["nosuch"])).toMatchObject({ status: 2, stdout: "" });
    expect(stemma(["show", "x", "--db", join(folder, "none.db")]).status).toBe(1);
    expect(stemma(["--help"]).stdout).toContain("chat");
  });

  it("keeps its database where STEMMA_DB says, in a folder and a file that are private", () => {
    const db = join(folder, "private", "deep", "s.db");
    const file = sessionsFile("one.json", 1, 1);
    expect(stemma(["import", file], { env: { STEMMA_DB: db } }).status).toBe(0);
    expect(statSync(db).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, "private", "deep")).mode & 0o777).toBe(0o700);
    expect(stemma(["sessions"], { env: { STEMMA_DB: db } }).stdout).toContain("s0");
  });

  it("ends in silence when its reader has seen enough", async () => {
    const db = join(folder, "pipe.db");
    stemma(["--db", db, "import", sessionsFile("long.json", 1, 2000)]);
    // Node 22 calls its own SQLite experimental.
    const env = { ...process.env, NODE_NO_WARNINGS: "1" };
    const child = spawn(process.execPath, [program, "--db", db, "show", "s0"], {
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let err = "";
    child.stderr.on("data", (chunk) => {
      err += chunk;
    });
    child.stdout.once("data", () => child.stdout.destroy());
    const code = await new Promise((done) => child.once("close", done));
    expect([code, err]).toEqual([0, ""]);
  });

  it("survives kill -9 in the middle of an import: the next import completes it", async () => {
    const file = sessionsFile("many.json", 200, 5);
    const killed = commandLine(folder, "killed.db");
    const child = spawn(process.execPath, [program, "--db", killed.db, "--json", "import", file]);
    let reports = 0;
    await new Promise((done) => {
      child.stdout.on("data", (chunk: Buffer) => {
        reports += chunk.toString().split("\n").length - 1;
        if (reports >= 5) child.kill("SIGKILL");
      });
      child.once("close", done);
    });
    const { sessions } = await killed.json<{ sessions: { id: string; messages: number }[] }>(
      "sessions",
      "--limit",
      "1000",
    );
    expect(sessions.length).toBeGreaterThanOrEqual(5);
    expect(sessions.length).toBeLessThan(200);
    // Each session is there whole, or without a message.
    expect(sessions.filter(({ messages }) => messages !== 5 && messages !== 0)).toEqual([]);
    await killed.ok("import", file);
    const whole = commandLine(folder, "whole.db");
    await whole.ok("import", file);
    const contents = async (line: typeof killed) => {
      const lines = (await line.ok("export", "--all")).split("\n");
      // The file names no times, so all of it is as old as its import.
      return lines.map((entry) => entry.replace(/,"(created_at|updated_at|storedAt)":"[^"]*"/g, "")).sort();
    };
    expect(await contents(killed)).toEqual(await contents(whole));
    expect(readFileSync(file, "utf8")).toContain("199/4");
  });
});
