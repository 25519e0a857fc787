// Half of a surrogate pair and NUL, wherever they may stand: what is stored stays as it is, and no model is shown them.
import { streamText, tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { SessionMessage } from "../../../packages/model/src/messages/message.js";
import { buildLearnPrompt, buildTitlePrompt } from "../../../packages/session/src/learning/learn.js";
import { createSession } from "../../../packages/stemma/src/agent.js";
import { sessionMemory } from "../../../packages/stemma/src/ai-sdk.js";
import { SessionManager } from "../../../packages/stemma/src/index.js";
import { Session } from "../../../packages/stemma/src/session.js";
import { createCompactFunction } from "../../../packages/stemma/src/utils.js";
import { memory } from "../../../packages/store/src/memory.js";
import { scriptedModel } from "../../ai-sdk/scripted-model.js";
import { call, connect, type Results } from "../../mcp/connect.js";
import { calls, collect, says, scripted } from "../../runner/mock-model.js";

/** Where a value holds what no request can hold. */
function broken(value: unknown, path = "$"): string[] {
  if (typeof value === "string") return value.isWellFormed() && !value.includes("\0") ? [] : [path];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, child]) => [
    ...broken(key, `the key ${path}.${key}`),
    ...broken(child, `${path}.${key}`),
  ]);
}

const question = (text: string): SessionMessage => ({ id: "q", role: "user", parts: [{ type: "text", text }] });

const ODD: SessionMessage[] = [
  {
    id: "1",
    role: "user",
    parts: [
      { type: "text", text: "nectarine \ud83c tree \0" },
      { type: "file", mediaType: "text/plain", filename: "a\udc00.txt", url: "https://x.y/\ud800" },
    ],
    metadata: { name: "Ada\ud800", "k\udfff": 1 },
  },
  {
    id: "2",
    role: "assistant",
    parts: [
      { type: "reasoning", text: "Hm\ud800", providerMetadata: { google: { thoughtSignature: "s\udc00" } } },
      {
        type: "tool-cat\ud800",
        toolCallId: "c\udc00",
        state: "output-available",
        input: { list: [{ "f\ud800": "x\udf50" }] },
        output: { text: "bin \ud800 ary", deep: [["\0"]] },
      },
      { type: "tool-cat", toolCallId: "d", state: "output-error", input: "{\udc00", errorText: "no \udc00" },
      { type: "text", text: "It is a nectarine. \udc00" },
      { type: "data-note", data: { "\ud800": "\udc00" } },
    ] as SessionMessage["parts"],
  },
  { id: "3", role: "user", parts: [{ type: "text", text: "Good." }] },
];

describe("half of a surrogate pair", () => {
  it("is stored as it is, and in no turn", async () => {
    const session = Session.create(memory()).forSession("s").forUser("ada").withContext("memory").withCachedPrompt();
    await session.appendAll(ODD);
    expect(await session.getHistory()).toEqual(ODD);
    const { messages, prefixHash } = await session.prepareTurn();
    expect(broken(messages)).toEqual([]);
    expect(messages.map(({ id }) => id)).toEqual(["1", "2", "3"]);
    expect((await session.prepareTurn()).prefixHash).toBe(prefixHash);
    const explained = await session.explainContext();
    expect(explained.parts.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(explained.bytes);
    expect(await session.getHistory()).toEqual(ODD);
  });

  it("is in no request of the AI SDK, whoever is asked", async () => {
    const session = Session.create(memory()).forSession("s").forUser("ada");
    await session.appendAll(ODD);
    for (const model of ["anthropic", "openai", "openai.chat", "google", "mistral", "any"]) {
      expect(broken((await sessionMemory(session, { model })).messages)).toEqual([]);
    }
  });

  it("is in no prompt of a block of your own, and is not told as a change", async () => {
    const provider = { get: async () => "likes \ud83c plums" };
    const session = Session.create(memory()).forSession("s").withContext("facts", { provider }).withCachedPrompt();
    await session.appendMessage(question("Hi"));
    const first = await session.prepareTurn();
    expect(first.system).toContain("likes \ufffd plums");
    await session.appendAll([
      { id: "a", role: "assistant", parts: [{ type: "text", text: "Yes?" }] },
      { ...question("So?"), id: "q2" },
    ]);
    const second = await session.prepareTurn();
    expect([second.system, second.changes, second.messages.at(-1)?.parts.length]).toEqual([first.system, [], 1]);
  });

  it("is in no quote, no answer of a search and no expanded summary", async () => {
    const manager = SessionManager.create(memory()).forUser("ada");
    await manager.appendAll("old", ODD);
    await manager.append("new", question("Which tree, the nectarine?"));
    const session = manager.getSession("new");
    const { messages, recalled } = await session.prepareTurn({ recall: { maxTokens: 500 } });
    expect([recalled.results.length > 0, broken(messages)]).toEqual([true, []]);
    expect(broken(await (await manager.tools()).session_search?.execute({ query: "nectarine" }))).toEqual([]);
    const old = Session.create(memory()).forSession("old").withExpandableSummaries();
    await old.appendAll(ODD);
    await old.addCompaction("sum", "1", "2");
    const [summary] = await old.getHistory();
    const expanded = await (await old.tools()).expand_summary?.execute({ id: summary?.id });
    expect([String(expanded).includes("nectarine"), broken(expanded)]).toEqual([true, []]);
  });

  it("is in no prompt for a summary, for learning or for a title", async () => {
    const prompts: string[] = [];
    const compact = createCompactFunction({
      summarize: (prompt) => {
        prompts.push(prompt);
        return "sum";
      },
      protectHead: 0,
      minTailMessages: 0,
      tailTokenBudget: 1,
    });
    await compact(ODD);
    prompts.push(buildTitlePrompt(ODD));
    const block = { label: "m\ud800", description: "d\ud800", content: "c\ud800", maxTokens: 9, holdsEntries: false };
    prompts.push(buildLearnPrompt({ messages: ODD, blocks: [block], entries: [] } as never));
    expect([prompts.length, broken(prompts)]).toEqual([3, []]);
    for (const prompt of prompts) expect(prompt).toContain("nectarine \ufffd tree");
  });

  it("that a tool gives in the middle of a turn is not in the next step", async () => {
    const cat = tool({ inputSchema: z.object({}), execute: () => ({ "k\ud800": ["half \udc00"] }) });
    const { model, prompts } = scriptedModel((prompt) => (prompt.at(-1)?.role === "tool" ? "Done" : { call: "cat" }));
    const session = Session.create(memory()).forSession("s");
    await session.appendMessage(question("Look"));
    const { tools, ...turn } = await sessionMemory(session, { tools: { cat } });
    await streamText({ model, ...turn, tools, stopWhen: ({ steps }) => steps.length > 1 }).text;
    expect([prompts.length, prompts.flatMap((prompt) => broken(prompt))]).toEqual([2, []]);
    const runner = scripted(calls(["a", "cat", {}]), says("Done"), says("More"));
    const agent = await createSession({
      model: runner,
      sessionStorage: memory(),
      tools: { cat },
      systemPrompt: "x\ud800",
    });
    for (const said of ["Look", "and \udc00 again"]) {
      await agent.send(said);
      await collect(agent.receive());
    }
    const asked = runner.doStreamCalls.map(({ prompt }) => prompt);
    expect([asked.length, asked.flatMap((prompt) => broken(prompt))]).toEqual([3, []]);
  });

  it("is in no answer of the MCP server", async () => {
    const store = memory();
    await Session.create(store).forSession("s").forUser("ada").appendAll(ODD);
    const client = await connect(store);
    const found = await call<Results>(client, "search", { query: "nectarine" });
    expect(JSON.stringify(found)).toContain("nectarine");
    const answers = [
      found,
      ...(await Promise.all(found.results.map(({ id }) => call(client, "fetch", { id })))),
      await call(client, "list_sessions"),
      await call(client, "recent"),
      await client.readResource({ uri: "stemma://session/s" }),
      await client.getPrompt({ name: "recall", arguments: { topic: "nectarine" } }),
      await client.getPrompt({ name: "continue_conversation", arguments: {} }),
    ];
    expect(broken(answers)).toEqual([]);
    await client.close();
  });

  it("is in no description of a tool", async () => {
    const session = Session.create(memory()).withContext("memory", { description: "Facts\ud800 of \0" });
    const { tools } = await session.prepareTurn();
    expect(Object.values(tools).flatMap(({ description }) => broken(description))).toEqual([]);
  });
});
