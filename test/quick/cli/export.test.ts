import { mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { SessionManager } from "../../../packages/session/src/manager/session-manager.js";
import { Session } from "../../../packages/session/src/session/session.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { type CommandLine, commandLine, linesOf, run, temporaryFolder } from "../../cli/run.js";
import { openDatabase } from "../../store/databases.js";

const folder = temporaryFolder();
const text = (value: string) => [{ type: "text", text: value }];
let stemma: CommandLine;

beforeAll(async () => {
  stemma = commandLine(folder, "export.db");
  const store = sqlite(stemma.db);
  const manager = SessionManager.create(store);
  await manager.create("Plans & <plots>", { id: "plans", model: "m-1", source: "test" });
  await manager.addUsage("plans", 100, 20, 0.5);
  const session = Session.create(store).forSession("plans");
  const at = new Date("2026-02-03T04:05:06.789Z");
  await session.appendAll([
    { id: "1", role: "user", parts: text("Plan a trip"), createdAt: at, metadata: { name: "ada" } },
    {
      id: "2",
      role: "assistant",
      parts: [
        { type: "reasoning", text: "first\nthink" },
        { type: "tool-book", toolCallId: "c", state: "output-available", input: { to: "Oslo" }, output: { ok: "```" } },
        { type: "tool-pay", toolCallId: "d", state: "output-error", input: {}, errorText: "no money" },
        { type: "tool-wait", toolCallId: "e", state: "input-available", input: {} },
        { type: "file", mediaType: "image/png", url: `data:image/png;base64,${"A".repeat(5000)}` },
        { type: "file", mediaType: "image/png", url: "https://example.com/a b.png", filename: "map" },
        { type: "text", text: "Booked." },
      ],
      createdAt: at.getTime(),
    },
    { id: "3", role: "user", parts: text("Thanks") },
  ]);
  await session.appendMessage({ id: "4", role: "user", parts: text("Cancel it"), createdAt: at.toISOString() }, "2");
  await session.addCompaction("A trip was booked.", "1", "2");
  await session.setActiveLeaf("3");
  await manager.create("Empty", { id: "empty" });
  await store.close();
});

describe("stemma export", () => {
  it("writes a session as lines that give an equal one elsewhere", async () => {
    const lines = await stemma.ok("export", "plans");
    expect(linesOf(lines)[0]).toMatchObject({
      stemma: 2,
      session: { id: "plans" },
      activeLeafId: "3",
      messages: 4,
      compactions: 1,
    });
    const other = commandLine(folder, "other.db");
    await other.ok("import", other.file("plans.jsonl", lines));
    const again = await other.ok("export", "plans");
    expect(linesOf(again)).toEqual(linesOf(lines));
    const store = sqlite(other.db);
    const message = await Session.create(store).forSession("plans").getMessage("1");
    expect(message?.createdAt).toEqual(new Date("2026-02-03T04:05:06.789Z"));
    await store.close();
  });

  it("notices when such a file was cut off", async () => {
    const lines = (await stemma.ok("export", "plans")).split("\n");
    const other = commandLine(folder, "cut.db");
    const [report] = await other.jsonLines<{ skipped: object[] }>(
      "import",
      other.file("cut.jsonl", lines.slice(0, 3).join("\n")),
    );
    expect(report?.skipped).toEqual([
      { line: 1, why: "the header names 4 messages and 1 summaries; the file holds 2 and 0" },
    ]);
  });

  it("writes the visible history as Markdown", async () => {
    const markdown = await stemma.ok("export", "plans", "--format", "markdown");
    expect(markdown).toContain("# Plans & <plots>\n");
    expect(markdown).toContain("## Summary of earlier messages\n\nA trip was booked.\n");
    expect(markdown).not.toContain("Booked.");
    const own = commandLine(folder, "markdown.db");
    const bare = linesOf(await stemma.ok("export", "plans")).filter(
      (line) => !(line as object & { compaction?: unknown }).compaction,
    );
    await own.ok("import", own.file("bare.jsonl", bare.map((line) => `${JSON.stringify(line)}\n`).join("")));
    const whole = await own.ok("export", "plans", "--format", "markdown");
    expect(whole).toContain("## User (ada) · 2026-02-03T04:05:06.789Z\n\nPlan a trip\n");
    expect(whole).toContain("> first\n> think\n");
    expect(whole).toContain(
      '**book**\n\n```json\n{\n  "to": "Oslo"\n}\n```\n\nResult:\n\n````\n{\n  "ok": "```"\n}\n````\n',
    );
    expect(whole).toContain("Error:\n\n```\nno money\n```");
    expect(whole).toContain("(no result)");
    expect(whole).toContain("[image/png]\n\n![map](<https://example.com/a b.png>)\n\nBooked.\n");
  });

  it("writes the visible history as a page that runs nothing and fetches nothing", async () => {
    const page = await stemma.ok("export", "plans", "--format", "html");
    expect(page).toContain("<title>Plans &amp; &lt;plots&gt;</title>");
    expect(page).toContain("default-src 'none'; style-src 'unsafe-inline'; img-src data:");
    expect(page).toContain("A trip was booked.");
    expect(page).not.toContain("Booked.");
    const own = commandLine(folder, "html.db");
    const bare = linesOf(await stemma.ok("export", "plans")).filter(
      (line) => !(line as object & { compaction?: unknown }).compaction,
    );
    await own.ok("import", own.file("bare-html.jsonl", bare.map((line) => `${JSON.stringify(line)}\n`).join("")));
    const whole = await own.ok("export", "plans", "--format", "html");
    expect(whole).toContain('<h2>user (ada) <time datetime="2026-02-03T04:05:06.789Z">');
    expect(whole).toContain(
      "<summary>Tool: book</summary><h3>Input</h3><pre>{\n  &quot;to&quot;: &quot;Oslo&quot;\n}</pre>",
    );
    expect(whole).toContain("<h3>Error</h3><pre>no money</pre>");
    expect(whole).toContain("(no result)");
    expect(whole).toContain(`<img src="data:image/png;base64,${"A".repeat(5000)}" alt="image/png">`);
    expect(whole).toContain('<a href="https://example.com/a b.png" rel="noreferrer noopener">map</a>');
  });

  it("writes the active path as OpenAI messages, and all branches as a pi session", async () => {
    const { messages } = JSON.parse(await stemma.ok("export", "plans", "--format", "openai"));
    expect(messages.map(({ role }: { role: string }) => role)).toEqual([
      "user",
      "assistant",
      "tool",
      "tool",
      "assistant",
      "user",
    ]);
    const other = commandLine(folder, "pi.db");
    await other.ok("import", other.file("plans.pi.jsonl", await stemma.ok("export", "plans", "--format", "pi")));
    expect(await other.json("tree", "plans")).toMatchObject({
      session: { name: "Plans & <plots>" },
      activeLeafId: "3",
      messages: [{ id: "1" }, { id: "2" }, { id: "2-3" }, { id: "3", parentId: "2-3" }, { id: "4", parentId: "2-3" }],
      compactions: [{ summary: "A trip was booked.", fromMessageId: "1", toMessageId: "2-3" }],
    });
  });

  it("writes every session, also into a file that only its owner can read", async () => {
    const path = join(folder, "all.jsonl");
    const report = await stemma.json("export", "--all", "--output", path);
    expect(report).toEqual({ file: path, format: "jsonl", sessions: ["plans", "empty"] });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder).filter((name) => name.endsWith(".tmp"))).toEqual([]);
    expect(readFileSync(path, "utf8")).toBe(await stemma.ok("export", "--all"));
    const other = commandLine(folder, "all.db");
    await other.ok("import", path);
    expect((await other.json<{ sessions: unknown[] }>("sessions")).sessions).toHaveLength(2);
  });

  it("leaves the file of an earlier export as it was when it fails", async () => {
    const path = stemma.file("old.jsonl", "the earlier export\n");
    const missing = await run(["--db", join(folder, "typo.db"), "export", "--all", "-o", path]);
    expect(missing).toMatchObject({ code: 1, err: expect.stringContaining("There is no database") });
    const own = commandLine(folder, "half.db");
    await own.ok("import", own.file("half.jsonl", await stemma.ok("export", "--all")));
    const database = openDatabase(own.db);
    database.prepare("UPDATE assistant_messages SET content = '{' WHERE id = '4'").run();
    database.close();
    expect(await own.run("export", "--all", "-o", path)).toMatchObject({
      code: 1,
      err: expect.stringContaining('"4"'),
    });
    expect(readFileSync(path, "utf8")).toBe("the earlier export\n");
    expect(readdirSync(folder).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });

  it.each([
    ["in no folder", join("nodir", "e.md"), /there is no folder ".*nodir"/],
    ["below a file", join("a-file", "e.md"), /".*a-file" is no folder/],
    ["that is a folder", "a-folder", /it is a folder/],
    ["that is to be a folder", "nodir/", /there is no folder ".*nodir\/"|is no folder/],
    ["that is no file", "/dev/null", /a device/],
  ])("says what is wrong of an output %s", async (_what, path, why) => {
    stemma.file("a-file", "");
    mkdirSync(join(folder, "a-folder"), { recursive: true });
    const output = path.startsWith("/") ? path : `${folder}/${path}`;
    const { code, err } = await stemma.run("export", "--all", "-o", output);
    expect(code).toBe(1);
    expect(err).toMatch(why);
    expect(err).toContain(`stemma: "${output}" cannot be written: `);
    expect(err).not.toContain(".tmp");
  });

  it("refuses a format that it does not know, and sessions that are not there", async () => {
    expect(await stemma.run("export", "plans", "--format", "word")).toMatchObject({
      code: 2,
      err: expect.stringContaining("markdown"),
    });
    expect(await stemma.run("export", "attic")).toMatchObject({ code: 1 });
    expect(await run(["--db", stemma.db, "export", "plans", "--all"])).toMatchObject({ code: 2 });
  });
});
