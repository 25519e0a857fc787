import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { jsonl } from "../../cli/read.js";
import { commandLine, run, temporaryFolder } from "../../cli/run.js";

const folder = temporaryFolder();

describe("stemma backup", () => {
  it("copies the database to a file that is a database, and overwrites none", async () => {
    const stemma = commandLine(folder, "store.db");
    const message = { message: { id: "a", role: "user", parts: [{ type: "text", text: "Hello" }] }, parentId: null };
    await stemma.ok("import", stemma.file("s.jsonl", jsonl([{ stemma: 1, session: { id: "s", name: "S" } }, message])));
    const copy = join(folder, "copy.db");
    expect(await stemma.ok("backup", copy)).toMatch(/copy\.db: \d+\.\d MB, nothing is damaged\n$/);
    const shown = await run(["--db", copy, "show", "s"]);
    expect(shown.out).toContain("Hello");
    expect(await stemma.run("backup", copy)).toMatchObject({
      code: 1,
      err: expect.stringContaining("is there already"),
    });
    const nowhere = join(folder, "nodir", "c.db");
    expect(await stemma.run("backup", nowhere)).toEqual({
      code: 1,
      out: "",
      err: `stemma: The backup "${nowhere}" cannot be written: there is no folder "${join(folder, "nodir")}".\n`,
    });
    expect(await stemma.json("backup", join(folder, "b.db"), "--no-check")).toMatchObject({ check: null });
  });

  it("makes no database where there is none", async () => {
    const stemma = commandLine(folder, "none.db");
    const { code, err } = await stemma.run("backup", join(folder, "nothing.db"));
    expect([code, err]).toEqual([1, expect.stringContaining("There is no database")]);
    expect([existsSync(stemma.db), existsSync(join(folder, "nothing.db"))]).toEqual([false, false]);
  });
});
