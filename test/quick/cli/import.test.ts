import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { jsonl } from "../../cli/read.js";
import { commandLine, run, temporaryFolder } from "../../cli/run.js";
import { textMessage } from "../../helpers/messages.js";

const folder = temporaryFolder();
let databases = 0;

function fresh() {
  databases += 1;
  return commandLine(folder, `import-${databases}.db`);
}

interface Report {
  file: string;
  session: string;
  messages: number;
  inserted: number;
  updated: number;
  skipped: { line: number; path?: string; why: string }[];
}

describe("stemma import", () => {
  it("adds nothing the second time", async () => {
    const stemma = fresh();
    const file = stemma.file(
      "twice.json",
      JSON.stringify([
        { role: "user", content: "hello" },
        { role: "assistant", content: "hi" },
      ]),
    );
    const [first] = await stemma.jsonLines<Report>("import", file);
    expect(first).toMatchObject({ file, messages: 2, inserted: 2, updated: 0, skipped: [] });
    expect(await stemma.jsonLines<Report>("import", file)).toMatchObject([
      { session: first?.session, messages: 2, inserted: 0 },
    ]);
    expect(await stemma.ok("import", file)).toMatch(/^twice\.json: twice-1-\w+ {2}hello, 0 of 2 messages added\n$/);
  });

  it("adds only what a file grew by, and leaves the session where its user went on", async () => {
    const stemma = fresh();
    const header = { stemma: 1, session: { id: "s" } };
    const lines = [
      { message: textMessage("a", "one"), parentId: null },
      { message: textMessage("b", "two"), parentId: "a" },
    ];
    const file = stemma.file("grows.jsonl", jsonl([{ ...header, activeLeafId: "b" }, ...lines]));
    await stemma.ok("import", file);
    const branch = stemma.file(
      "branch.jsonl",
      jsonl([
        { stemma: 1, session: { id: "s" } },
        { message: textMessage("x", "mine"), parentId: "a" },
      ]),
    );
    await stemma.ok("import", branch);
    await stemma.ok("import", file);
    expect(await stemma.jsonLines("show", "s")).toMatchObject([{ id: "a" }, { id: "x" }]);
    const more = { message: textMessage("c", "three"), parentId: "b" };
    stemma.file("grows.jsonl", jsonl([{ ...header, activeLeafId: "c" }, ...lines, more]));
    expect(await stemma.jsonLines<Report>("import", file)).toMatchObject([{ messages: 3, inserted: 1 }]);
    expect(await stemma.jsonLines("show", "s")).toMatchObject([{ id: "a" }, { id: "b" }, { id: "c" }]);
  });

  it("completes a call whose result came into the file later", async () => {
    const stemma = fresh();
    const call = { id: "c1", type: "function", function: { name: "add", arguments: '{"a":1}' } };
    const messages: object[] = [
      { role: "user", content: "add" },
      { role: "assistant", content: null, tool_calls: [call] },
    ];
    const file = stemma.file("calls.json", JSON.stringify(messages));
    await stemma.ok("import", file);
    messages.push({ role: "tool", tool_call_id: "c1", content: '{"sum":2}' });
    stemma.file("calls.json", JSON.stringify(messages));
    expect(await stemma.jsonLines<Report>("import", file)).toMatchObject([{ messages: 2, inserted: 0, updated: 1 }]);
    expect(await stemma.jsonLines("show")).toMatchObject([
      {},
      { parts: [{ state: "output-available", output: { sum: 2 } }] },
    ]);
    const [{ session } = { session: "" }] = await stemma.jsonLines<Report>("import", file);
    expect(JSON.parse(await stemma.ok("export", session, "--format", "openai"))).toEqual({ messages });
    expect(await stemma.jsonLines<Report>("import", file)).toMatchObject([{ updated: 0 }]);
  });

  it("tells what it left out, and where", async () => {
    const stemma = fresh();
    const lines = [
      textMessage("a", "one"),
      { id: "compaction_1", role: "assistant", parts: [] },
      textMessage("b", "two"),
      { id: "bad\0id", role: "user", parts: [] },
      textMessage("c", "three"),
    ];
    const file = stemma.file("holes.jsonl", `${jsonl(lines)}{"id":`);
    const [report] = await stemma.jsonLines<Report>("import", file);
    expect(report).toMatchObject({ messages: 3, inserted: 3 });
    expect(report?.skipped).toEqual([
      { line: 6, why: expect.stringContaining("not JSON") },
      { line: 2, why: "it is a summary that stands for other messages, not a message" },
      { line: 4, why: expect.stringContaining("NUL") },
    ]);
    expect(await stemma.jsonLines("show")).toMatchObject([{ id: "a" }, { id: "b" }, { id: "c" }]);
    expect(await stemma.ok("import", file)).toContain("3 left out:\n  line 6: not JSON");
  });

  it("tells the place in the list of what it left out of a list on one line", async () => {
    const stemma = fresh();
    // A list is read element by element; what an object holds, at once.
    const list = [
      textMessage("a", "one"),
      5,
      { id: "x", role: "user" },
      textMessage("a", "again"),
      { role: "user", id: "\0", parts: [] },
    ];
    const whys = [
      expect.stringMatching(/^neither a message nor a list|^not a message: it has no role/),
      "the message has no parts",
      'the id "a" stands in the file twice; the first is kept',
      expect.stringContaining("NUL"),
    ];
    const files: [string, unknown, string][] = [
      ["list", list, "$"],
      ["object", { messages: list }, "$.messages"],
      ["runs", [{ messages: list }], "$[0].messages"],
      ["traj", [[textMessage("b", "two")], { traj: list }], "$[1].traj"],
    ];
    for (const [name, value, path] of files) {
      const file = stemma.file(`${name}.json`, JSON.stringify(value));
      const report = (await stemma.jsonLines<Report>("import", "--format", "ui-messages", file)).at(-1);
      expect(report?.skipped).toEqual(whys.map((why, index) => ({ line: 1, path: `${path}[${index + 1}]`, why })));
    }
    const lines = stemma.file("lines.jsonl", jsonl([list, list]));
    const report = (await stemma.jsonLines<Report>("import", lines)).at(-1);
    expect(report?.skipped[1]).toEqual({ line: 2, path: "$[2]", why: whys[1] });
    expect(await stemma.ok("import", lines)).toContain("  line 2, $[2]: the message has no parts\n");
    const broken = stemma.file("broken.json", `[${JSON.stringify(textMessage("c", "three"))}, {"id"}, {"id":`);
    expect((await stemma.jsonLines<Report>("import", broken))[0]?.skipped).toEqual([
      { line: 1, path: "$[1]", why: expect.stringContaining("not JSON") },
      { line: 1, path: "$[2]", why: "the file ends in the middle of a value" },
    ]);
  });

  it("leaves out summaries over messages that are not there, and attaches what has lost its parent", async () => {
    const stemma = fresh();
    const lines = [
      { stemma: 1, session: { id: "s" } },
      { message: textMessage("a", "one"), parentId: null },
      { message: textMessage("b", "two"), parentId: "gone" },
      { message: textMessage("a", "again"), parentId: "b" },
      { compaction: { id: "c1", summary: "S", fromMessageId: "a", toMessageId: "b" } },
      { compaction: { id: "c2", summary: "S", fromMessageId: "a" } },
      { compaction: { id: "c3", summary: "S", fromMessageId: "a", toMessageId: "a" } },
      { compaction: { id: "c4", summary: "S", fromMessageId: "b", toMessageId: "a" } },
    ];
    const [report] = await stemma.jsonLines<Report>("import", stemma.file("torn.jsonl", jsonl(lines)));
    expect(report).toMatchObject({ inserted: 2, compactions: 2 });
    expect(report?.skipped.map(({ line, why }) => `${line} ${why}`)).toEqual([
      "6 the summary lacks a field",
      '3 its parent "gone" is missing; it is attached to the message before it',
      '4 the id "a" stands in the file twice; the first is kept',
      '0 the summary "c4" lies over messages that are not there, or not on one path',
    ]);
  });

  it("imports nothing, and ends with 1, where nothing of a file is understood", async () => {
    const stemma = fresh();
    const unknown = [{ type: "mystery", words: "hello" }];
    const files = [
      [{ role: "user", content: unknown }],
      [{ id: "a", role: "user", parts: unknown }],
      [{ role: "user", body: "hello" }],
      [{ role: "user", message: { content: unknown } }],
      [
        { type: "session", id: "p" },
        { type: "message", message: { role: "user", content: unknown } },
      ],
      [
        { type: "session_meta", payload: { id: "c" } },
        { type: "response_item", payload: { words: "hello" } },
      ],
      [{ type: "human", uuid: "u", parentUuid: null, sessionId: "s", message: { content: "hello" } }],
    ];
    for (const [index, lines] of files.entries()) {
      const file = stemma.file(`unknown-${index}.jsonl`, jsonl(lines));
      const { code, out, err } = await stemma.run("import", file);
      expect([code, out + err]).toEqual([1, expect.stringMatching(/line \d: |the format was not recognised/i)]);
    }
    expect(await stemma.json("sessions")).toMatchObject({ sessions: [] });
    const [report] = await stemma.jsonLines<Report>(
      "import",
      stemma.file("some.jsonl", jsonl([{ role: "user", content: ["hello", ...unknown] }])),
    );
    expect(report).toMatchObject({
      inserted: 1,
      skipped: [{ line: 1, why: 'content of the type "mystery": it is kept as it stands, and shown to no model' }],
    });
  });

  it("ends with 1 where a file holds nothing of the format named", async () => {
    const stemma = fresh();
    const text = stemma.file("notes.txt", "plain text");
    const empty = stemma.file("empty.jsonl", "");
    for (const format of ["jsonl", "pi", "claude-code", "codex"]) {
      const noJson = await stemma.run("import", "-f", format, text);
      expect(noJson).toMatchObject({
        code: 1,
        err: expect.stringMatching(/nothing of the format .*: line 1 is not JSON/),
      });
      expect(await stemma.run("import", "-f", format, empty)).toMatchObject({ code: 0, err: "" });
    }
    expect(await stemma.ok("sessions")).toContain("No sessions yet");
  });

  it("reads the other files when one cannot be read, and ends with 1", async () => {
    const stemma = fresh();
    const good = stemma.file("good.json", JSON.stringify([textMessage("a", "one")]));
    const bad = stemma.file("bad.txt", "no format\n");
    const { code, out, err } = await stemma.run("import", bad, "/no/such/file", good);
    expect(code).toBe(1);
    expect(out).toContain("1 of 1 message added");
    expect(err).toMatch(
      /stemma: .*bad\.txt: The format was not recognised.*stemma: \/no\/such\/file: There is no such file\./s,
    );
    expect(await fresh().run("import", folder)).toMatchObject({
      code: 1,
      err: `stemma: ${folder}: It is a folder. Name the files in it, or pass --all.\n`,
    });
    const asJson = await stemma.run("--json", "import", bad, good);
    expect(asJson.code).toBe(1);
    expect(
      asJson.out
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line)),
    ).toMatchObject([
      { file: bad, error: { code: "UNKNOWN_FORMAT" } },
      { file: good, inserted: 0 },
    ]);
  });

  it("prints a line for each file, and a bar where somebody reads along", async () => {
    const stemma = fresh();
    const two = stemma.file("two.json", JSON.stringify([[textMessage("a", "one")], [textMessage("b", "two")]]));
    const many = Array.from({ length: 300 }, (_, number) => ({
      id: `s${number}`,
      messages: Array.from({ length: 5 }, (_, index) => textMessage(`m${index}`, "Words. ".repeat(100))),
    }));
    const large = stemma.file("large.json", JSON.stringify(many));
    const { out, err } = await run(["--db", stemma.db, "import", two, large], { terminal: true });
    expect(out).toBe(
      "two.json: 2 sessions, 2 of 2 messages added\nlarge.json: 300 sessions, 1,500 of 1,500 messages added\n",
    );
    expect(stripVTControlCharacters(err)).toMatch(/\r█*░* +\d+ % large\.json: \d+ sessions?, [\d,]+ messages/);
    expect(err.endsWith("\r\u001b[K")).toBe(true);
    expect((await stemma.run("import", large)).err).toBe("");
  });

  it("imports into a session that is named, from a file that holds one", async () => {
    const stemma = fresh();
    const one = stemma.file("one.json", JSON.stringify([textMessage("a", "one")]));
    const two = stemma.file("two.json", JSON.stringify([[textMessage("a", "one")], [textMessage("b", "two")]]));
    expect(await stemma.jsonLines<Report>("import", one, "--session", "mine")).toMatchObject([{ session: "mine" }]);
    const { code, err } = await stemma.run("import", two, "--session", "other");
    expect([code, err]).toEqual([1, expect.stringContaining("holds several sessions")]);
    expect((await stemma.json<{ sessions: unknown[] }>("sessions")).sessions).toHaveLength(1);
  });

  it("reads standard input", async () => {
    const stemma = fresh();
    const { code, out } = await run(["--db", stemma.db, "--json", "import", "-"], {
      input: jsonl([textMessage("a", "one")]),
    });
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ file: "-", session: expect.stringMatching(/^stdin-1-/), inserted: 1 });
  });

  it("keeps sessions of files with the same name apart", async () => {
    const stemma = fresh();
    await stemma.ok("import", stemma.file("chat.json", JSON.stringify([textMessage("a", "one")])));
    await stemma.ok("import", stemma.file("chat.json", JSON.stringify([textMessage("a", "something else")])));
    expect((await stemma.json<{ sessions: unknown[] }>("sessions")).sessions).toHaveLength(2);
  });

  it("counts what the models of a session used, once", async () => {
    const stemma = fresh();
    const usage = { input: 10, output: 2, cacheRead: 5, cacheWrite: 0, cost: { total: 0.25 } };
    const reply = { role: "assistant", content: [], model: "m", usage, timestamp: 1 };
    const file = stemma.file(
      "pi.jsonl",
      jsonl([
        { type: "session", id: "p" },
        { type: "message", message: reply },
      ]),
    );
    for (let time = 0; time < 2; time += 1) await stemma.ok("import", file);
    const odd = { id: "odd", input_tokens: 1.5, output_tokens: Number.MAX_SAFE_INTEGER, estimated_cost: 0.5 };
    await stemma.ok(
      "import",
      stemma.file("odd.jsonl", jsonl([{ stemma: 1, session: odd }, { message: textMessage("a", "one") }])),
    );
    expect(await stemma.json("sessions")).toMatchObject({
      sessions: [
        { ...odd, input_tokens: 0 },
        { id: "p", model: "m", source: "pi", input_tokens: 15, output_tokens: 2, estimated_cost: 0.25 },
      ],
    });
  });

  it("counts by day what a file tells of its usage, and what it tells when it has grown", async () => {
    const stemma = fresh();
    const usage = { input: 10, output: 2, cacheRead: 5, cacheWrite: 0, cost: { total: 0.25 } };
    const reply = (timestamp: string) => ({
      ...{ type: "message", timestamp },
      message: { role: "assistant", content: [], model: "m", usage },
    });
    const lines: unknown[] = [{ type: "session", id: "p" }, reply("2026-03-01T10:00:00Z")];
    const file = stemma.file("grown.jsonl", jsonl(lines));
    await stemma.ok("import", file);
    lines.push(reply("2026-03-01T11:00:00Z"), reply("2026-03-02T10:00:00Z"));
    stemma.file("grown.jsonl", jsonl(lines));
    for (let time = 0; time < 2; time += 1) await stemma.ok("import", file);
    const store = sqlite(stemma.db);
    const used = (requests: number) => ({
      ...{ requests, inputTokens: 15 * requests, outputTokens: 2 * requests, cost: 0.25 * requests },
    });
    expect(await store.sessions.usageRows("p")).toEqual([
      { day: "2026-03-01", model: "m", ...used(2) },
      { day: "2026-03-02", model: "m", ...used(1) },
    ]);
    expect(await store.sessions.get("p")).toMatchObject({ input_tokens: 45, output_tokens: 6, estimated_cost: 0.75 });
    await store.close();
  });
});
