import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { commandLine, run, temporaryFolder } from "../../cli/run.js";
import { openDatabase } from "../../store/databases.js";

const folder = temporaryFolder();

const READING: readonly (readonly string[])[] = [
  ["sessions"],
  ["show"],
  ["show", "a"],
  ["tree"],
  ["search", "tea"],
  ["export", "--all"],
  ["check"],
  ["check", "--repair"],
  ["backup", join(folder, "copy.db")],
  ["delete", "a", "--yes"],
  ["prune", "--older-than", "7d", "--yes"],
  ["compact", "a"],
  ["fork", "a"],
  ["studio"],
  ["mcp", "--read-only"],
];

/** A file of another program in a folder of its own, and what the folder holds. */
function foreign(write: (path: string) => void) {
  const place = mkdtempSync(join(folder, "foreign-"));
  const db = join(place, "theirs.db");
  write(db);
  // What ends with -shm is shared memory: whoever reads the log counts there.
  const names = () => readdirSync(place).filter((name) => !name.endsWith("-shm"));
  const bytes = () => names().map((name) => [name, readFileSync(join(place, name)).toString("base64")]);
  return { db, bytes, before: bytes() };
}

function withTable(path: string, journal: string): void {
  const database = openDatabase(path);
  database.prepare(`PRAGMA journal_mode = ${journal}`).all();
  database.prepare("CREATE TABLE assistants (name TEXT)").run();
  database.prepare("INSERT INTO assistants VALUES ('theirs')").run();
  database.close();
}

/** As a program leaves it that was ended, or still writes: the table stands in the log. */
function withLog(path: string): void {
  const database = openDatabase(`${path}.open`);
  database.prepare("PRAGMA journal_mode = WAL").all();
  database.prepare("CREATE TABLE assistants (name TEXT)").run();
  for (const end of ["", "-wal", "-shm"]) copyFileSync(`${path}.open${end}`, `${path}${end}`);
  database.close();
}

describe("a database of another program", () => {
  it.each([
    ["with a rollback journal", (path: string) => withTable(path, "DELETE")],
    ["with a write-ahead log", (path: string) => withTable(path, "WAL")],
    ["whose log is not written back", withLog],
  ])("%s is told, and not written to", async (_, write) => {
    const { db, bytes, before } = foreign(write);
    for (const command of READING) {
      const { code, out, err } = await run(["--db", db, ...command]);
      expect([command, code, out]).toEqual([command, 1, ""]);
      expect(err).toMatch(
        /^stemma: The database .*theirs\.db is another program's: it has no sessions of Stemma\. .*\n$/,
      );
    }
    const target = join(folder, "target.db");
    expect(await run(["copy", db, target])).toMatchObject({ code: 1, err: expect.stringContaining("has no sessions") });
    expect(existsSync(target)).toBe(false);
    expect(bytes()).toEqual(before);
  });

  it("takes the sessions that are imported into it, and is read from then on", async () => {
    const { db } = foreign((path) => withTable(path, "DELETE"));
    const stemma = commandLine(folder);
    const file = stemma.file("talk.json", JSON.stringify([{ role: "user", content: "hello" }]));
    expect(await run(["--db", db, "import", file])).toMatchObject({ code: 0 });
    expect(await run(["--db", db, "search", "hello"])).toMatchObject({ code: 0, err: "" });
  });
});

it("an empty file has no sessions yet", async () => {
  const path = join(folder, "empty.db");
  writeFileSync(path, "");
  expect(await run(["--db", path, "sessions"])).toMatchObject({
    code: 0,
    out: expect.stringContaining("No sessions yet"),
  });
});

it("tables that agents wrote are read, and upgraded", async () => {
  const path = join(folder, "agents.db");
  copyFileSync("test/fixtures/agents-0.9.0.sqlite", path);
  expect(await run(["--db", path, "sessions"])).toMatchObject({ code: 0, err: "" });
});
