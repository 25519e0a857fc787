import { readFileSync, writeFileSync } from "node:fs";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import type { CheckReport } from "../../../packages/store/src/contract/store.js";
import { jsonl } from "../../cli/read.js";
import { type CommandLine, commandLine, temporaryFolder } from "../../cli/run.js";
import { openDatabase } from "../../store/databases.js";

const folder = temporaryFolder();

async function filled(name: string): Promise<CommandLine> {
  const stemma = commandLine(folder, name);
  const line = (id: string, parentId: string | null) => ({
    message: { id, role: "user", parts: [{ type: "text", text: `text of ${id}` }] },
    parentId,
  });
  const session = { stemma: 1, session: { id: "s", name: "The session" } };
  await stemma.ok("import", stemma.file(`${name}.jsonl`, jsonl([session, line("a", null), line("b", "a")])));
  return stemma;
}

function change(stemma: CommandLine, sql: string): void {
  const database = openDatabase(stemma.db);
  database.prepare(sql).run();
  database.close();
}

describe("stemma check", () => {
  it("ends with 0 where nothing is damaged, and says how much it looked at", async () => {
    const stemma = await filled("sound.db");
    expect(await stemma.ok("check")).toMatch(/assistant_messages +2\n[\s\S]*Nothing is damaged\.\n$/);
    expect(await stemma.json("check")).toMatchObject({ ok: true, problems: [], repaired: 0 });
  });

  it("ends with 1 while something is damaged, and with 0 once it is mended", async () => {
    const stemma = await filled("damaged.db");
    change(stemma, "UPDATE assistant_messages SET branch = 3 WHERE id = 'b'");
    const found = await stemma.run("check");
    expect([found.code, found.err]).toEqual([1, ""]);
    expect(found.out).toMatch(/damaged +tree +s \/ b [\s\S]*1 of 1 problems are left\. `stemma check --repair` mends/);
    const mended = await stemma.run("check", "--repair");
    expect(mended.code).toBe(0);
    expect(mended.out).toMatch(/mended +tree +s \/ b [\s\S]*Everything that was damaged is mended: 1\.\n$/);
    expect(await stemma.ok("check")).toContain("Nothing is damaged.");
  });

  it("keeps telling of a message that cannot be read", async () => {
    const stemma = await filled("unreadable.db");
    change(stemma, "UPDATE assistant_messages SET content = '{' WHERE id = 'b'");
    for (const args of [["check"], ["check", "--repair"], ["check", "--session", "s"]]) {
      const { code, out } = await stemma.run("--json", ...args);
      const report = JSON.parse(out) as CheckReport;
      expect([code, report.ok]).toEqual([1, false]);
      expect(report.problems).toMatchObject([{ rule: "content", sessionId: "s", id: "b", repaired: false }]);
    }
    expect(await stemma.run("check", "--session", "none")).toMatchObject({
      code: 1,
      err: expect.stringContaining("Session not found"),
    });
  });

  it("says what to do about a damaged file, as the other commands do", async () => {
    const stemma = commandLine(folder, "damaged.db");
    const messages = Array.from({ length: 300 }, (_, n) => ({
      role: "user",
      content: `number ${n} ${"word ".repeat(80)}`,
    }));
    await stemma.ok("import", stemma.file("many.json", JSON.stringify([{ id: "many", messages }])));
    const bytes = readFileSync(stemma.db);
    const damage = async (from: number, ...args: string[]) => {
      writeFileSync(stemma.db, Buffer.from(bytes).fill(0x55, from));
      return stemma.run(...args);
    };
    const advice = /if `stemma check --repair` does not mend it, restore a backup, or use SQLite's `\.recover`/;
    const shown = await damage(bytes.length >> 3, "show", "many");
    expect([shown.code, shown.err]).toEqual([1, expect.stringMatching(advice)]);
    // The first pages of several tables.
    const damaged = Buffer.from(bytes);
    writeFileSync(stemma.db, bytes);
    for (const page of rootPages(stemma.db)) damaged.fill(0x55, (page - 1) * 4096, page * 4096);
    writeFileSync(stemma.db, damaged);
    const { code, out } = await stemma.run("check");
    const lines = out.split("\n").filter((line) => line.startsWith("damaged"));
    expect([code, new Set(lines).size]).toEqual([1, lines.length]);
    const unread = lines.filter((line) => line.includes("The rows could not be read"));
    expect(unread).toEqual([
      expect.stringMatching(
        /disk image is malformed \(assistant_messages, assistant_sessions, .*, assistant_records\)$/,
      ),
    ]);
    const repaired = await damage(bytes.length - 8192, "check", "--repair");
    expect([repaired.code, repaired.out]).toEqual([
      1,
      expect.stringMatching(/problems are left\. .*restore a backup, or .*\.recover/),
    ]);
  });
});

function rootPages(path: string): number[] {
  const database = new Database(path);
  const tables = "'assistant_messages', 'assistant_sessions', 'assistant_versions', 'assistant_records'";
  const pages = database.prepare(`SELECT rootpage FROM sqlite_schema WHERE tbl_name IN (${tables})`).pluck().all();
  database.close();
  return pages as number[];
}
