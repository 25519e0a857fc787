import { anthropic } from "@ai-sdk/anthropic";
import Anthropic from "@anthropic-ai/sdk";
import { betaMemoryTool } from "@anthropic-ai/sdk/helpers/beta/memory";
import { generateText, stepCountIs, type Tool } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { describe, expect, it } from "vitest";
import { memoryTool } from "../../../packages/stemma/src/claude.js";
import { AgentSearchProvider, Session, SessionManager } from "../../../packages/stemma/src/index.js";
import { memory } from "../../../packages/store/src/memory.js";
import { createProvider } from "../../providers/list-provider.js";

const text = (id: string, role = "user") => ({ id, role, parts: [{ type: "text", text: `text of ${id}` }] });
const path = "/memories/notes.md";

function open() {
  const store = memory();
  const sessionOf = (id = "main") => Session.create(store).forSession(id);
  return { store, sessionOf };
}

describe("a file of the memory tool", () => {
  it("is an entry of the session, with versions that name the message and the call they come from", async () => {
    const { store, sessionOf } = open();
    const session = sessionOf();
    await session.appendMessage(text("q1"));
    const tool = memoryTool(session);
    await tool.create({ path: "/memories/people/ada.md", file_text: "Ada drinks tea." }, { toolCallId: "call-1" });
    await session.appendMessage(text("a1", "assistant"));
    await tool.str_replace({ path: "/memories/people/ada.md", old_str: "tea", new_str: "coffee" });
    await tool.delete({ path: "/memories/people/ada.md" });
    const scope = { sessionId: "main", label: "memories" };
    const versions = await store.entries.versions(scope, "people/ada.md");
    expect(
      versions.map(({ content, author, sessionId, messageIds, toolCallId }) => [
        content,
        author,
        sessionId,
        messageIds,
        toolCallId,
      ]),
    ).toEqual([
      [null, "model", "main", ["a1"], null],
      ["Ada drinks coffee.", "model", "main", ["a1"], null],
      ["Ada drinks tea.", "model", "main", ["q1"], "call-1"],
    ]);
    expect((await store.entries.list(scope)).map(({ key, content, value }) => [key, content, value])).toEqual([
      ["people/", "", "directory"],
    ]);
  });

  it("is found by a search, as a block of the session and as entries; a directory is not", async () => {
    const { store, sessionOf } = open();
    const session = sessionOf().withContext("memories", { provider: new AgentSearchProvider(store) });
    await memoryTool(session).create({ path: "/memories/kiwis/birds.md", file_text: "Kiwis cannot fly." });
    const { search_context } = await session.tools();
    expect(await search_context.execute({ label: "memories", query: "flying kiwis" })).toBe(
      "[kiwis/birds.md]\nKiwis cannot fly.",
    );
    expect(await store.entries.search({ sessionId: "main", label: "memories" }, "kiwis", { limit: 9 })).toHaveLength(1);
  });

  it("belongs to the session, to its user, or to a key, under the label that is named", async () => {
    const { store, sessionOf } = open();
    const ofAda = (id: string) => SessionManager.create(store).forUser("ada").getSession(id);
    const seen = async (session: Session, options = {}) =>
      (await memoryTool(session, options).view({ path: "/memories" })).split("\n").slice(2);
    const scopes = [{}, { label: "other" }, { scope: "user" as const }, { scope: { key: "team" } }];
    for (const [index, options] of scopes.entries()) {
      await memoryTool(ofAda("one"), options).create({ path: `/memories/${index}`, file_text: "" });
    }
    for (const [index, options] of scopes.entries())
      expect(await seen(ofAda("one"), options)).toEqual([`0B\t/memories/${index}`]);
    expect(await seen(ofAda("two"))).toEqual([]);
    expect(await seen(ofAda("two"), { scope: "user" })).toEqual(["0B\t/memories/2"]);
    expect(await seen(sessionOf("three"), { scope: { key: "team" } })).toEqual(["0B\t/memories/3"]);
    await expect(seen(sessionOf("three"), { scope: "user" })).rejects.toMatchObject({ code: "USER_REQUIRED" });
  });

  it("may be written by other programs: an entry with a path is in its directories", async () => {
    const { store, sessionOf } = open();
    const scope = { sessionId: "main", label: "memories" };
    for (const key of ["a/b/c.md", "a/d.md", "e"]) await store.entries.set(scope, { key, content: "12345" });
    const tool = memoryTool(sessionOf());
    expect((await tool.view({ path: "/memories" })).split("\n").slice(1)).toEqual([
      ...["15B\t/memories", "10B\t/memories/a/", "5B\t/memories/a/b/", "5B\t/memories/a/d.md", "5B\t/memories/e"],
    ]);
    expect(await tool.rename({ old_path: "/memories/a", new_path: "/memories/f/g" })).toBe(
      "Successfully renamed /memories/a to /memories/f/g",
    );
    expect((await store.entries.list(scope)).map(({ key }) => key)).toEqual([
      "e",
      "f/",
      "f/g/",
      "f/g/b/",
      "f/g/b/c.md",
      "f/g/d.md",
    ]);
    await tool.delete({ path: "/memories/f" });
    expect((await store.entries.list(scope)).map(({ key }) => key)).toEqual(["e"]);
  });

  it("takes each of many edits that meet, and has a name once", async () => {
    const { store, sessionOf } = open();
    const tools = ["one", "two", "three"].map((id) => memoryTool(sessionOf(id), { scope: { key: "team" } }));
    await tools[0]?.create({ path, file_text: "" });
    const edits = Array.from({ length: 30 }, (_, index) =>
      tools[index % 3]?.insert({ path, insert_line: 0, insert_text: `line ${index}` }),
    );
    await Promise.all(edits);
    const file = await store.entries.get({ sessionId: "", label: "memories", scope: { key: "team" } }, "notes.md");
    expect(file?.content.split("\n").filter(Boolean).sort()).toEqual(edits.map((_, index) => `line ${index}`).sort());

    const created = await Promise.allSettled(
      [path.replace("notes.md", "x"), path.replace("notes.md", "x/y")].flatMap((each) =>
        tools.map((tool) => tool.create({ path: each, file_text: "" })),
      ),
    );
    expect(created.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  });

  it("is no entry of a session of your own provider, and takes no wrong argument", async () => {
    expect(() => memoryTool(new Session(createProvider()))).toThrow(
      expect.objectContaining({ code: "STORE_UNSUPPORTED" }),
    );
    const tool = memoryTool(open().sessionOf());
    const wrong = [
      { command: "create", path, file_text: 5 },
      { command: "create", path },
      { command: "view" },
      { command: "read", path },
    ] as unknown as Parameters<typeof tool.execute>[0][];
    for (const command of wrong)
      await expect(tool.execute(command)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    await expect(tool.create({ path, file_text: "a\0b" })).rejects.toMatchObject({ code: "INVALID_TEXT" });
    await expect(tool.create({ path: "/memories/a\0b", file_text: "" })).rejects.toMatchObject({
      code: "INVALID_TEXT",
    });
    await expect(tool.create({ path: "/memories/../x", file_text: "" })).rejects.toMatchObject({
      code: "MEMORY_REFUSED",
    });
  });

  it("is read and edited by lines whose numbers a model wrote as texts, and whole where it wrote nothing", async () => {
    const { view, create, insert } = memoryTool(Session.create(memory()).forSession("s"));
    const path = "/memories/a.md";
    await create({ path, file_text: "one\ntwo" });
    await insert({ path, insert_line: "2" as never, insert_text: "three" });
    const whole = await view({ path });
    for (const range of [null, undefined, "", "null"])
      expect(await view({ path, view_range: range as never })).toBe(whole);
    const last = await view({ path, view_range: [2, 3] });
    expect(last).toMatch(/2\ttwo\n +3\tthree$/);
    for (const range of [["2", "3"], "[2, 3]", ["2", "-1"]]) {
      expect(await view({ path, view_range: range as never })).toBe(last);
    }
  });

  it("may have a line of a megabyte, and a million lines that are not shown", async () => {
    const tool = memoryTool(open().sessionOf());
    await tool.create({ path, file_text: `${"long ".repeat(200_000)}\nshort` });
    expect(await tool.str_replace({ path, old_str: "short", new_str: "$&" })).toMatch(/\n {5}2\t\$&$/);
    await tool.create({ path: "/memories/lines", file_text: "\n".repeat(1_000_000) });
    await expect(tool.view({ path: "/memories/lines" })).rejects.toThrow(
      "File /memories/lines has too many lines (1000001). Maximum is 999,999 lines.",
    );
  });
});

describe("the memory tool", () => {
  const commands = [
    { command: "create", path, file_text: "Ada drinks tea." },
    { command: "view", path: "/memories/none.md" },
    { command: "view", path },
  ];
  const shown = "Here's the content of /memories/notes.md with line numbers:\n     1\tAda drinks tea.";
  const missing = "The path /memories/none.md does not exist. Please provide a valid path.";

  it("is run by the tool runner of Anthropic's SDK", async () => {
    const posted: { messages: { content: unknown }[]; tools: unknown }[] = [];
    const client = new Anthropic({
      apiKey: "none",
      fetch: async (_url, init) => {
        posted.push(JSON.parse(String(init?.body)));
        const input = commands[posted.length - 1];
        const content = input
          ? [{ type: "tool_use", id: `t${posted.length}`, name: "memory", input }]
          : [{ type: "text", text: "Done." }];
        const stop_reason = input ? "tool_use" : "end_turn";
        const usage = { input_tokens: 1, output_tokens: 1 };
        return Response.json({ id: "m", type: "message", role: "assistant", model: "x", content, stop_reason, usage });
      },
    });
    const answer = await client.beta.messages.toolRunner({
      model: "claude-sonnet-5-5",
      max_tokens: 100,
      messages: [{ role: "user", content: "What does Ada drink?" }],
      tools: [betaMemoryTool(memoryTool(open().sessionOf()))],
    });
    expect(answer.content).toEqual([{ type: "text", text: "Done." }]);
    expect(posted[0]?.tools).toEqual([{ type: "memory_20250818", name: "memory" }]);
    expect(posted.slice(1).map(({ messages }) => messages.at(-1)?.content)).toEqual([
      [{ type: "tool_result", tool_use_id: "t1", content: `File created successfully at: ${path}` }],
      [{ type: "tool_result", tool_use_id: "t2", content: `Error: ${missing}`, is_error: true }],
      [{ type: "tool_result", tool_use_id: "t3", content: shown }],
    ]);
  });

  it("is run by the AI SDK, which names its calls", async () => {
    const { store, sessionOf } = open();
    let step = 0;
    const usage = {
      inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 1, text: 1, reasoning: 0 },
    };
    const model = new MockLanguageModelV3({
      doGenerate: async () => {
        const input = commands[step++];
        const content = input
          ? ({ type: "tool-call", toolCallId: `t${step}`, toolName: "memory", input: JSON.stringify(input) } as const)
          : ({ type: "text", text: "Done." } as const);
        return {
          content: [content],
          finishReason: { unified: input ? "tool-calls" : "stop", raw: "" },
          usage,
          warnings: [],
        };
      },
    });
    const { steps } = await generateText({
      model,
      prompt: "What does Ada drink?",
      // This repository has several copies of the package whose types these are.
      tools: {
        memory: anthropic.tools.memory_20250818({ execute: memoryTool(sessionOf()).execute }) as unknown as Tool,
      },
      stopWhen: stepCountIs(9),
    });
    const results = steps
      .flatMap(({ content }) => content)
      .filter(({ type }) => type === "tool-result" || type === "tool-error");
    expect(
      results.map((part) => ("output" in part ? part.output : `${(part as { error: Error }).error.message}`)),
    ).toEqual([...[`File created successfully at: ${path}`, missing, shown]]);
    const [version] = await store.entries.versions({ sessionId: "main", label: "memories" }, "notes.md");
    expect(version?.toolCallId).toBe("t1");
  });
});
