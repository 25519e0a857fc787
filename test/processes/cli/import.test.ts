import { spawnSync } from "node:child_process";
import { appendFileSync, existsSync, mkdtempSync, renameSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { beforeAll, describe, expect, it } from "vitest";
import { CLAUDE_ID, CODEX_ID, Home, rollout } from "../../cli/import-home.js";
import { jsonl } from "../../cli/read.js";
import { buildCommand, linesOf, temporaryFolder } from "../../cli/run.js";
import { Spawned } from "../../cli/spawned.js";
import { text } from "../../formats/claude-code-lines.js";
import { writeLargeTranscript } from "../../formats/large-file.js";

const folder = temporaryFolder();
let program: string;

beforeAll(async () => {
  program = await buildCommand(folder);
});

const newHome = () => new Home(mkdtempSync(join(folder, "home-")));
const database = (home: Home) => home.path(".stemma/sessions.db");

function stemma(home: Home, ...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], {
    encoding: "utf8",
    input: "",
    env: home.env,
  });
  return { code: status, out: stdout, err: stderr };
}

/** The ids of the sessions, each with the number of its messages. */
function sessions(home: Home): Record<string, number> {
  const { out } = stemma(home, "--json", "sessions");
  const all: { id: string; messages: number }[] = JSON.parse(out).sessions;
  return Object.fromEntries(all.map(({ id, messages }) => [id, messages]));
}

/** What all tables hold. */
function contents(home: Home): unknown {
  const db = new Database(database(home), { readonly: true });
  const tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").pluck().all();
  const rows = tables.map((name) => [name, db.prepare(`SELECT * FROM "${name}"`).all()]);
  db.close();
  return rows;
}

const THERE = { [CLAUDE_ID]: 2, [`${CLAUDE_ID}/agent-a1`]: 1, [CODEX_ID]: 2, "pi-1": 1 };

describe("stemma import --all", () => {
  it("finds what Claude Code, Codex and pi keep in the home folder, and adds nothing the second time", () => {
    const home = newHome();
    const first = stemma(home, "--json", "import", "--all", "--yes");
    expect(first).toMatchObject({ code: 0, err: "" });
    const lines = linesOf(first.out) as Record<string, unknown>[];
    expect(lines.filter(({ program: name }) => name !== undefined)).toMatchObject([
      { program: "Claude Code", folder: home.path(".claude/projects"), files: 2 },
      { program: "Codex", folder: home.path(".codex/sessions"), files: 1 },
      { program: "pi", folder: home.path(".pi/agent/sessions"), files: 1 },
    ]);
    expect(sessions(home)).toEqual(THERE);
    const before = contents(home);
    const second = stemma(home, "import", "--all", "--yes");
    expect(second).toMatchObject({ code: 0, err: "" });
    expect(second.out.match(/, 0 of \d messages? added\n/g)).toHaveLength(4);
    expect(contents(home)).toEqual(before);
  });

  it("asks, and fails where nobody can answer", () => {
    const home = newHome();
    const { code, out, err } = stemma(home, "import", "--all");
    expect([code, err]).toEqual([1, "Nothing was imported. Answer y, or pass --yes.\n"]);
    expect(out).toContain("Claude Code");
    expect(existsSync(database(home))).toBe(false);
  });

  it("says so where there is nothing", () => {
    const home = new Home(mkdtempSync(join(folder, "home-")));
    const env = { ...home.env, HOME: mkdtempSync(join(folder, "empty-")) };
    const { status, stdout } = spawnSync(process.execPath, [program, "import", "--all", "--yes"], {
      encoding: "utf8",
      env,
    });
    expect([status, stdout]).toEqual([0, "Nothing was found of Claude Code, Codex or pi.\n"]);
  });

  it("reads a file by the program that wrote it, whatever its first line says", () => {
    const home = newHome();
    home.write(
      home.claude,
      jsonl([{ type: "a line of a later version", sessionId: CLAUDE_ID }, ...home.transcript.lines]),
    );
    home.write(".claude/projects/-home-ada-mill/22222222-2222-4222-8222-222222222222.jsonl", "");
    expect(stemma(home, "import", "--all", "--yes")).toMatchObject({ code: 0, err: "" });
    expect(sessions(home)).toEqual(THERE);
  });
});

describe("stemma import --watch", () => {
  const watching = (home: Home, ...args: string[]) => {
    const child = new Spawned(program, ["--json", "import", "--watch", ...args], home.env);
    /** The reports of a session so far. */
    const of = (session: string) => child.lines.filter((line) => line.session === session);
    return { child, of };
  };

  it("follows what grows, what is new and what is replaced, until Ctrl-C", async () => {
    const home = newHome();
    const { child, of } = watching(home, "--all", "--yes");
    await expect.poll(() => of("pi-1")).toMatchObject([{ inserted: 1 }]);

    // An answer that is written in two halves.
    const asked = home.transcript.user(String(home.transcript.lines.at(-1)?.uuid), "And in winter?");
    home.transcript.assistant(asked, "msg_2", text("By wind."));
    const added = jsonl(home.transcript.lines.slice(2));
    const half = added.length - 100;
    appendFileSync(home.path(home.claude), added.slice(0, half));
    await expect.poll(() => of(CLAUDE_ID)).toMatchObject([{ inserted: 2 }, { inserted: 1 }]);
    appendFileSync(home.path(home.claude), added.slice(half));
    await expect.poll(() => of(CLAUDE_ID).at(-1)).toMatchObject({ messages: 4, inserted: 1, skipped: [] });

    // A new file, which begins with half a line.
    const id = "019a0000-0000-7000-8000-000000000002";
    const lines = jsonl(rollout(id, "How wide is it?", "Ten metres."));
    const fresh = home.write(home.codex.replace(CODEX_ID, id), lines.slice(0, 20));
    await new Promise((later) => setTimeout(later, 1500));
    appendFileSync(fresh, lines.slice(20));
    await expect.poll(() => of(id)).toMatchObject([{ inserted: 2, skipped: [] }]);

    // Another file in the place of one, as editors and synchronised folders do it.
    const other = home.write("other.jsonl", jsonl(rollout(CODEX_ID, "How deep is the river?", "Nobody knows.")));
    renameSync(other, home.path(home.codex));
    await expect.poll(() => of(CODEX_ID)).toMatchObject([{ inserted: 2 }, { inserted: 1 }]);

    child.stop("SIGINT");
    expect(await child.ended).toEqual({ code: 0, signal: null });
    expect(child.err).toBe("");
    expect(child.lines.at(-1)).toEqual({ watched: { files: 5, inserted: 11, updated: 0 } });
    expect(sessions(home)).toEqual({ ...THERE, [CLAUDE_ID]: 4, [id]: 2 });
    expect(stemma(home, "tree", CODEX_ID).out).toMatch(/Two metres[\s\S]*Nobody knows/);
  });

  it("reads a file again where the database was held by another program", async () => {
    const home = newHome();
    stemma(home, "import", home.path(home.pi));
    const db = new Database(database(home));
    db.exec("BEGIN IMMEDIATE");
    const { child, of } = watching(home, home.path(home.codex));
    await expect.poll(() => child.lines).toMatchObject([{ error: { code: "STORE_LOCKED" } }]);
    db.exec("ROLLBACK");
    db.close();
    await expect.poll(() => of(CODEX_ID)).toMatchObject([{ inserted: 2 }]);
    child.stop("SIGTERM");
    expect(await child.ended).toMatchObject({ code: 1 });
  });

  it("ends in the middle of a large file, which the next import completes", async () => {
    const home = newHome();
    const file = home.path("22222222-2222-4222-8222-222222222222.jsonl");
    const { messages } = writeLargeTranscript(file, { bytes: 20e6, length: 4000 });
    for (const [args, code, said] of [
      [["--watch"], 0, /^Watched 1 file: [1-9][\d,]* messages added\n$/m],
      [[], 130, /^$/],
    ] as const) {
      const child = new Spawned(program, ["import", ...args, file], home.env);
      const there = () => existsSync(database(home)) && Object.values(sessions(home))[0];
      const before = there() || 0;
      await expect.poll(there).toBeGreaterThan(before + 100);
      child.stop("SIGINT");
      expect(await child.ended).toEqual({ code, signal: null });
      expect(child.out).toMatch(/ of [\d,]+ messages added/);
      expect(child.out.split("\n").slice(1).join("\n")).toMatch(said);
      expect(child.err).toBe(
        code === 0 ? "" : "stemma: Stopped by SIGINT. What was told is stored; import again to go on.\n",
      );
      expect(Object.values(sessions(home))[0]).toBeLessThan(messages);
    }
    expect(stemma(home, "import", file)).toMatchObject({ code: 0, err: "" });
    expect(Object.values(sessions(home))).toEqual([messages]);
    expect(stemma(home, "check")).toMatchObject({ code: 0 });
  });
});
