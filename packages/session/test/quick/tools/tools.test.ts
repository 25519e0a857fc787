// One place for all generated tools: what each says and does.
import type { ToolSet } from "ai";
import { asSchema, generateText, stepCountIs } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { describe, expect, it } from "vitest";
import { NO_SKILLS, recordLoad, recordUnload } from "../../../../model/src/messages/skill-view.js";
import { sqlite } from "../../../../store/src/sqlite.js";
import type { ContextConfig } from "../../../src/context/block.js";
import { AgentSearchProvider } from "../../../src/context/providers/agent-search.js";
import { AgentContextProvider } from "../../../src/context/providers/store-context.js";
import { SessionContext } from "../../../src/context/session-context.js";
import type { ObjectSchema, SessionTools, SkillLog } from "../../../src/tools/tool.js";

function skillLog() {
  let state = NO_SKILLS;
  const log: SkillLog = {
    load: async (label, key, toolCallId) => {
      state = recordLoad(state, label, key, toolCallId);
    },
    unload: async (label, key) => {
      const next = recordUnload(state, label, key, 1);
      state = next ?? state;
      return next !== null;
    },
    loaded: async () => state.loaded,
  };
  return { log, loaded: () => state.loaded };
}

function documents(held: Record<string, string> = {}) {
  const map = new Map(Object.entries(held));
  const descriptions: Record<string, string> = {};
  return {
    map,
    descriptions,
    get: async () => [...map.keys()].map((key) => `- ${key}`).join("\n") || null,
    load: async (key: string) => map.get(key) ?? null,
    set: async (key: string, content: string, description?: string) => {
      map.set(key, content);
      if (description !== undefined) descriptions[key] = description;
    },
  };
}

function contextOf(configs: ContextConfig[], skills: SkillLog | null = skillLog().log): SessionContext {
  const store = sqlite(":memory:");
  const wire = (label: string) => new AgentContextProvider(store, label);
  return new SessionContext({ configs, wire, promptStore: null, skills, sessionId: "s" });
}

function call(tools: SessionTools, name: string, input: unknown, toolCallId?: string): Promise<string> {
  const tool = tools[name];
  if (!tool) throw new Error(`no tool ${name}`);
  return tool.execute(input, { toolCallId });
}

const soul: ContextConfig = { label: "soul", provider: { get: () => "x" } };
const readonlySkills: ContextConfig = { label: "skills", provider: { get: () => "- a", load: () => "A" } };

describe("which tools there are", () => {
  it.each<[string, ContextConfig[], string[]]>([
    ["no blocks", [], []],
    ["a read-only block", [soul], []],
    ["a writable block", [soul, { label: "memory" }], ["set_context"]],
    ["read-only skills", [readonlySkills], ["load_context", "unload_context"]],
    [
      "writable skills",
      [{ label: "skills", provider: documents() }],
      ["set_context", "load_context", "unload_context"],
    ],
    ["a read-only search", [{ label: "kb", provider: { get: () => null, search: () => null } }], ["search_context"]],
    [
      "a search",
      [{ label: "kb", provider: new AgentSearchProvider(sqlite(":memory:")) }],
      ["set_context", "search_context"],
    ],
    [
      "a provider that loads and searches",
      [{ label: "docs", provider: { ...documents(), search: () => "found" } }],
      ["set_context", "load_context", "unload_context", "search_context"],
    ],
  ])("follows from %s", async (_, configs, names) => {
    expect(Object.keys(await contextOf(configs).tools())).toEqual(names);
  });

  it("and what they say changes only with the set of blocks", async () => {
    const skills = documents({ a: "A" });
    const context = contextOf([
      { label: "memory", description: "Facts", maxTokens: 100 },
      { label: "skills", provider: skills },
    ]);
    const shown = async () =>
      JSON.stringify(
        Object.entries(await context.tools()).map(([name, tool]) => [
          name,
          tool.description,
          asSchema(tool.inputSchema).jsonSchema,
        ]),
      );
    const before = await shown();
    const tools = await context.tools();
    await call(tools, "set_context", { label: "memory", content: "x" });
    await call(tools, "set_context", { label: "skills", content: "B", metadata: { title: "b" } });
    await call(tools, "load_context", { label: "skills", key: "a" }, "c");
    expect(await shown()).toBe(before);
    await context.live.add("more", {});
    expect(await shown()).not.toBe(before);
    context.live.remove("more");
    expect(await shown()).toBe(before);
  });
});

describe("the tools for the AI SDK", () => {
  it("are a tool set, with schemas that name the blocks", async () => {
    const context = contextOf([soul, { label: "memory" }, { label: "Skills", provider: documents() }]);
    const tools: ToolSet = await context.tools();
    const schemas = Object.fromEntries(
      Object.entries(tools).map(([name, tool]) => [name, asSchema(tool.inputSchema).jsonSchema]),
    );
    expect(schemas.set_context).toMatchObject({
      type: "object",
      properties: {
        label: { type: "string", enum: ["memory", "Skills"] },
        content: { type: "string" },
        action: { enum: ["replace", "append"] },
        metadata: { properties: { title: { type: "string" }, description: { type: "string" } } },
      },
      required: ["label", "content"],
    });
    for (const name of ["load_context", "unload_context"]) {
      expect(schemas[name]).toMatchObject({
        type: "object",
        properties: { label: { type: "string", enum: ["Skills"] }, key: { type: "string" } },
        required: ["label", "key"],
      });
    }
  });

  it("accept a label in the case that the prompt shows", async () => {
    const tools = await contextOf([{ label: "memory" }]).tools();
    const validated = await asSchema(tools.set_context?.inputSchema).validate?.({ label: "MEMORY", content: "x" });
    expect(validated).toMatchObject({ success: true });
  });
});

function modelThatCalls(calls: { toolName: string; input: unknown }[]) {
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  };
  const content = calls.map(({ toolName, input }, index) => ({
    type: "tool-call" as const,
    toolCallId: `call-${index}`,
    toolName,
    input: JSON.stringify(input),
  }));
  const rest = { usage, warnings: [] };
  return new MockLanguageModelV3({
    doGenerate: [
      { content, finishReason: { unified: "tool-calls", raw: undefined }, ...rest },
      { content: [{ type: "text", text: "Done." }], finishReason: { unified: "stop", raw: undefined }, ...rest },
    ],
  });
}

it("runs in the AI SDK's own loop", async () => {
  const { log, loaded } = skillLog();
  const context = contextOf(
    [{ label: "memory" }, { label: "skills", provider: documents({ deploy: "Checklist" }) }],
    log,
  );
  const calls = [
    { toolName: "set_context", input: { label: "MEMORY", content: "User likes tea." } },
    { toolName: "load_context", input: { block: "Skills", key: "deploy" } },
  ];
  const result = await generateText({
    model: modelThatCalls(calls),
    prompt: "go",
    tools: await context.tools(),
    stopWhen: stepCountIs(2),
  });
  expect(result.steps[0]?.toolResults.map((part) => part.output)).toEqual(["Replaced memory.", "Checklist"]);
  expect(context.block("memory")?.content).toBe("User likes tea.");
  expect(loaded()).toEqual([{ label: "skills", key: "deploy", toolCallIds: ["call-1"] }]);
});

it("keeps what a model sent with null in place of what it left out, in the AI SDK's own loop", async () => {
  const context = contextOf([
    { label: "memory" },
    { label: "kb", provider: new AgentSearchProvider(sqlite(":memory:")) },
  ]);
  const calls = [
    { toolName: "set_context", input: { label: "memory", content: "Likes tea.", action: null, metadata: null } },
    {
      toolName: "set_context",
      input: { label: "kb", content: "Green.", action: "", metadata: { title: "tea", description: null } },
    },
    { toolName: "set_context", input: { label: "memory", content: null, surprise: 1 } },
    { toolName: "search_context", input: { label: "kb" } },
  ];
  const tools = await context.tools();
  const result = await generateText({ model: modelThatCalls(calls), prompt: "go", tools, stopWhen: stepCountIs(2) });
  expect(result.steps[0]?.toolResults.map((part) => part.output)).toEqual([
    "Replaced memory.",
    'Wrote entry "tea" in kb.',
    "Error: content is missing: send a text (The text to write); the input takes no surprise: its fields are label, content, action, metadata.",
    "Error: query is missing: send a text that is not empty (Plain words. Not all of them need to occur).",
  ]);
  expect(context.block("memory")?.content).toBe("Likes tea.");
});

it("takes null and the empty text of every optional argument of every tool for absence", async () => {
  const { log } = skillLog();
  const asked = { label: "asked", approve: "user" as const };
  const kb = new AgentSearchProvider(sqlite(":memory:"));
  const tools = await contextOf(
    [asked, { label: "docs", provider: documents({ a: "A" }) }, { label: "kb", provider: kb }],
    log,
  ).tools();
  for (const [name, tool] of Object.entries(tools)) {
    const { properties, required } = asSchema(tool.inputSchema).jsonSchema as ObjectSchema;
    const samples = { label: name === "search_context" ? "kb" : "docs", content: "x", key: "a", query: "x" };
    const needed = Object.fromEntries(Object.entries(samples).filter(([property]) => required?.includes(property)));
    const rest = Object.keys(properties).filter((property) => !required?.includes(property));
    for (const absent of [null, "", undefined]) {
      const input = { ...needed, ...Object.fromEntries(rest.map((property) => [property, absent])) };
      expect(await call(tools, name, input), name).not.toMatch(/^Error: (?!"a" of docs is not loaded)/);
    }
  }
});

it("asks the user for no call that is refused anyway, and for one under the older name of its label", async () => {
  const { set_context } = await contextOf([{ label: "memory", approve: "user" as const }, { label: "free" }]).tools();
  expect(set_context?.needsApproval?.({ label: "MEMORY", content: "x", action: null })).toBe(true);
  expect(set_context?.needsApproval?.({ block: "memory", content: "x" })).toBe(true);
  expect(set_context?.needsApproval?.({ label: "memory" })).toBe(false);
  expect(set_context?.needsApproval?.({ label: "free", content: "x" })).toBe(false);
  expect(set_context?.needsApproval?.(null)).toBe(false);
});

it("empties a block with an empty text", async () => {
  const context = contextOf([{ label: "memory" }]);
  const tools = await context.tools();
  await call(tools, "set_context", { label: "memory", content: "Likes tea." });
  expect(await call(tools, "set_context", { label: "memory", content: "", action: null })).toBe("Replaced memory.");
  expect(context.block("memory")?.content).toBe("");
});

describe("set_context", () => {
  it("replaces and appends, regardless of the label's case, and tells how full the block is", async () => {
    const context = contextOf([{ label: "memory", maxTokens: 100 }, { label: "free" }]);
    const tools = await context.tools();
    expect(await call(tools, "set_context", { label: "memory", content: "User likes coffee." })).toBe(
      "Replaced memory (5% — 5/100 tokens).",
    );
    expect(await call(tools, "set_context", { label: "MEMORY", content: "\nAnd tea.", action: "append" })).toMatch(
      /^Appended to memory/,
    );
    expect(context.block("memory")?.content).toBe("User likes coffee.\nAnd tea.");
    expect(await call(tools, "set_context", { label: "free", content: "x" })).toBe("Replaced free.");
  });

  it("refuses in words, and changes nothing", async () => {
    const provider = { get: () => "", set: () => Promise.reject(new Error("disk full")) };
    const context = contextOf([soul, { label: "memory", maxTokens: 5 }, { label: "broken", provider }, readonlySkills]);
    const tools = await context.tools();
    await call(tools, "set_context", { label: "memory", content: "kept" });
    const refused: unknown[] = [
      { label: "memory", content: "x".repeat(100) },
      { label: "memory", content: "x".repeat(20), action: "append" },
      { label: "soul", content: "x" },
      { label: "skills", content: "x", metadata: { title: "a" } },
      { label: "other", content: "x" },
      { label: "broken", content: "x" },
      { label: "memory", content: "a\0" },
      { label: "memory" },
      { label: "memory", content: "x", action: "delete" },
      { label: 7, content: "x" },
      null,
      "memory",
      undefined,
    ];
    for (const input of refused) expect(await call(tools, "set_context", input)).toMatch(/^Error: ./);
    expect(await call(tools, "set_context", { label: "other", content: "x" })).toContain(
      "The blocks are: soul, memory, broken, skills.",
    );
    expect(await call(tools, "set_context", { label: "broken", content: "x" })).toContain("disk full");
    expect(context.block("memory")?.content).toBe("kept");
  });

  it("keeps entries with different titles apart and updates the same one", async () => {
    const skills = documents();
    const kb = new AgentSearchProvider(sqlite(":memory:"), "kb");
    const tools = await contextOf([
      { label: "skills", provider: skills },
      { label: "kb", provider: kb.forSession("s") },
    ]).tools();
    const titles = ["C++ tips", "C# tips", "日本語", "日本", "C tips"];
    for (const label of ["skills", "kb"]) {
      for (const round of [1, 2]) {
        for (const title of titles)
          await call(tools, "set_context", { label, content: `${title} ${round}`, metadata: { title } });
      }
    }
    expect([...skills.map.values()].sort()).toEqual(titles.map((title) => `${title} 2`).sort());
    expect(await kb.forSession("s").get()).toBe("5 entries indexed.");
  });

  it("passes the description on, and uses a key that the listing shows", async () => {
    const skills = documents({ "API Ref.md": "old" });
    const context = contextOf([{ label: "skills", provider: skills }]);
    const tools = await context.tools();
    expect(
      await call(tools, "set_context", {
        label: "skills",
        content: "new",
        metadata: { title: "API Ref.md", description: "The API" },
      }),
    ).toBe('Wrote entry "API Ref.md" in skills.');
    expect(Object.fromEntries(skills.map)).toEqual({ "API Ref.md": "new" });
    expect(skills.descriptions).toEqual({ "API Ref.md": "The API" });
    await call(tools, "set_context", { label: "skills", content: "x", metadata: { title: "deploy-checklist" } });
    expect(context.block("skills")?.content).toBe("- API Ref.md\n- deploy-checklist");
  });

  it("names an entry without a title by its content", async () => {
    const skills = documents();
    const tools = await contextOf([{ label: "skills", provider: skills }]).tools();
    for (const content of ["Bob likes tea", "Bob likes tea", "Bob likes coffee"]) {
      await call(tools, "set_context", { label: "skills", content });
    }
    expect([...skills.map.values()]).toEqual(["Bob likes tea", "Bob likes coffee"]);
  });

  it("takes no field that there is not, for a misspelt one would be lost", async () => {
    const kb = new AgentSearchProvider(sqlite(":memory:"), "kb").forSession("s");
    const tools = await contextOf([{ label: "kb", provider: kb }, { label: "memory" }]).tools();
    const write = (metadata: unknown, more: object = {}) =>
      call(tools, "set_context", { label: "kb", content: "Lives in Berlin.", metadata, ...more });
    const fields = "title, description, validFrom, validTo, expiresAt, supersedes, tags";
    for (const name of ["valid_from", "validfrom", "tag", "supercedes", "ValidFrom"]) {
      const told = `Error: metadata takes no ${name}: its fields are ${fields}.`;
      expect(await write({ title: "Home", [name]: "2026-05-01" })).toBe(told);
      expect(await write(JSON.stringify({ [name]: "2026-05-01" }))).toBe(told);
    }
    expect(await write({}, { validFrom: "2026-05-01" })).toContain("the input takes no validFrom");
    expect(await kb.get()).toBe(null);
    expect(await write({ title: "Home", valid_from: null })).toBe('Wrote entry "home" in kb.');
  });

  it("writes no entry that says nothing", async () => {
    const kb = new AgentSearchProvider(sqlite(":memory:"), "kb").forSession("s");
    const tools = await contextOf([{ label: "kb", provider: kb }]).tools();
    for (const content of ["", "  \n", "\u00a0"]) {
      for (const action of ["replace", "append"])
        expect(await call(tools, "set_context", { label: "kb", content, action, metadata: { title: "Home" } })).toBe(
          "Error: an entry of kb needs a content that is not blank.",
        );
    }
    expect(await kb.get()).toBe(null);
  });

  it("says why an entry that it wrote is not shown", async () => {
    const kb = new AgentSearchProvider(sqlite(":memory:"), "kb").forSession("s");
    const tools = await contextOf([{ label: "kb", provider: kb }]).tools();
    const write = (metadata: object) =>
      call(tools, "set_context", {
        label: "kb",
        content: "Lives in Berlin.",
        metadata: { title: "Home", ...metadata },
      });
    const hidden = 'Wrote entry "home" in kb. It is not shown now, and searches leave it out: ';
    expect(await write({ validTo: "2020-01-01" })).toBe(`${hidden}it ended at 2020-01-01T00:00:00.000Z.`);
    expect(await write({ validTo: "2999-01-01", expiresAt: "2020-01-01T12:00+02:00" })).toBe(
      `${hidden}it expired at 2020-01-01T10:00:00.000Z.`,
    );
    expect(await kb.list({})).toEqual([]);
    // What was written before stays.
    expect(await write({ validTo: "2999-01-01" })).toContain("it expired at 2020-01-01");
    expect(await write({})).toBe(
      'Wrote entry "home" in kb. It was not shown before (it expired at 2020-01-01T10:00:00.000Z), and holds again now.',
    );
    expect(await write({})).toBe('Wrote entry "home" in kb.');
    await write({ validTo: "2020-01-01" });
    const appended = await call(tools, "set_context", {
      label: "kb",
      content: "With a cat.",
      action: "append",
      metadata: { title: "Home" },
    });
    expect(appended).toBe(
      'Appended to entry "home" in kb. It was not shown before (it ended at 2020-01-01T00:00:00.000Z), and holds again now.',
    );
    expect(await write({ validFrom: "2998-01-01", validTo: "2999-01-01" })).toBe(
      `${hidden}it only begins at 2998-01-01T00:00:00.000Z.`,
    );
    expect(await kb.list({})).toEqual([]);
    expect(await write({ validFrom: "2020-01-01", validTo: "2999-01-01" })).toBe('Wrote entry "home" in kb.');
    expect((await kb.list({})).length).toBe(1);
  });

  it("takes a title that is an entry's own key for that entry", async () => {
    const kb = new AgentSearchProvider(sqlite(":memory:"), "kb").forSession("s");
    await kb.set("Drink", "Likes tea.");
    const tools = await contextOf([{ label: "kb", provider: kb }]).tools();
    const write = (title: string, content: string) =>
      call(tools, "set_context", { label: "kb", content, metadata: { title } });
    expect(await write("Drink", "Likes coffee.")).toBe('Wrote entry "Drink" in kb.');
    expect(await write("DRINK", "Likes milk.")).toBe('Wrote entry "drink" in kb.');
    expect((await kb.list({})).map(({ key, content }) => `${key}: ${content}`)).toEqual([
      "Drink: Likes coffee.",
      "drink: Likes milk.",
    ]);
    expect(await write("a\0b", "x")).toMatch(/^Error: A title holds NUL/);
  });

  it("appends to entries where the provider can, and refuses where it cannot", async () => {
    const skills = documents({ a: "one" });
    const written: string[] = [];
    const blind = { get: () => null, search: () => null, set: async (key: string) => void written.push(key) };
    const context = contextOf([
      { label: "skills", provider: skills, maxTokens: 10 },
      { label: "blind", provider: blind },
      { label: "kb", provider: new AgentSearchProvider(sqlite(":memory:")), maxTokens: 10 },
    ]);
    const tools = await context.tools();
    const append = (label: string, title: string, content: string) =>
      call(tools, "set_context", { label, content, action: "append", metadata: { title } });
    await Promise.all([append("skills", "a", "two"), append("skills", "a", "\nthree")]);
    expect(skills.map.get("a")).toBe("one\ntwo\nthree");
    expect(await append("skills", "a", "x".repeat(30))).toMatch(/^Error: /);
    expect(await append("skills", "new", "first")).toBe('Appended to entry "new" in skills.');
    expect(await append("blind", "a", "x")).toMatch(/^Error: .*cannot append/);
    expect(written).toEqual([]);
    await append("kb", "a", "one");
    await append("kb", "a", "two");
    expect(await call(tools, "search_context", { label: "kb", query: "two" })).toBe("[a]\none\ntwo");
    expect(await append("kb", "a", "x".repeat(40))).toMatch(/^Error: /);
  });

  it("bounds each entry of a keyed block, not all of them together", async () => {
    const tools = await contextOf([{ label: "skills", provider: documents(), maxTokens: 10 }]).tools();
    for (const title of ["a", "b", "c"]) {
      expect(
        await call(tools, "set_context", { label: "skills", content: "x".repeat(40), metadata: { title } }),
      ).toMatch(/^Wrote/);
    }
    expect(
      await call(tools, "set_context", { label: "skills", content: "x".repeat(41), metadata: { title: "d" } }),
    ).toMatch(/^Error: /);
  });
});

describe("load_context and unload_context", () => {
  it("load a document, record it, and unload it once", async () => {
    const { log, loaded } = skillLog();
    const tools = await contextOf([{ label: "skills", provider: documents({ deploy: "Checklist" }) }], log).tools();
    expect(await call(tools, "load_context", { label: "Skills", key: "deploy" }, "call-1")).toBe("Checklist");
    expect(loaded()).toEqual([{ label: "skills", key: "deploy", toolCallIds: ["call-1"] }]);
    expect(await call(tools, "unload_context", { label: "SKILLS", key: "deploy" })).toBe("Unloaded deploy of skills.");
    expect(loaded()).toEqual([]);
    expect(await call(tools, "unload_context", { label: "skills", key: "deploy" })).toBe(
      'Error: "deploy" of skills is not loaded.',
    );
  });

  it("know the label under its older name", async () => {
    const tools = await contextOf([
      { label: "skills", provider: documents({ "deploy-checklist": "Checklist" }) },
    ]).tools();
    expect(await call(tools, "load_context", { block: "skills", key: "deploy-checklist" })).toBe("Checklist");
    expect(await call(tools, "unload_context", { block: "skills", key: "deploy-checklist" })).toMatch(/^Unloaded/);
  });

  it("say what is not there, and record nothing", async () => {
    const { log, loaded } = skillLog();
    const failing = { get: () => "", load: () => Promise.reject(new Error("down")) };
    const context = contextOf(
      [soul, { label: "skills", provider: documents() }, { label: "remote", provider: failing }],
      log,
    );
    const tools = await context.tools();
    expect(await call(tools, "load_context", { label: "skills", key: "nope" })).toBe("Not found: nope");
    expect(await call(tools, "load_context", { label: "soul", key: "a" })).toMatch(/^Error: /);
    expect(await call(tools, "load_context", { label: "other", key: "a" })).toMatch(/^Error: No block/);
    expect(await call(tools, "load_context", { label: "remote", key: "a" })).toMatch(/^Error: .*down/);
    expect(await call(tools, "load_context", { label: "skills" })).toMatch(/^Error: key/);
    expect(await call(tools, "unload_context", { label: "other", key: "a" })).toMatch(/^Error: No block/);
    expect(loaded()).toEqual([]);
  });

  it("load without a record where there is none, and then have nothing to unload", async () => {
    const tools = await contextOf([readonlySkills], null).tools();
    expect(await call(tools, "load_context", { label: "skills", key: "a" })).toBe("A");
    expect(await call(tools, "unload_context", { label: "skills", key: "a" })).toMatch(/^Error: /);
  });
});

describe("search_context", () => {
  it("gives what the provider found, or says that nothing matches", async () => {
    const failing = { get: () => null, search: () => Promise.reject(new Error("down")) };
    const context = contextOf([
      { label: "kb", provider: new AgentSearchProvider(sqlite(":memory:")) },
      { label: "remote", provider: failing },
      { label: "memory" },
    ]);
    const tools = await context.tools();
    await call(tools, "set_context", { label: "kb", content: "Deploy on Friday", metadata: { title: "deploys" } });
    expect(await call(tools, "search_context", { label: "KB", query: "friday" })).toBe("[deploys]\nDeploy on Friday");
    expect(await call(tools, "search_context", { label: "kb", query: "monday" })).toBe(
      'No entry of kb matches "monday".',
    );
    expect(await call(tools, "search_context", { label: "remote", query: "x" })).toMatch(/^Error: .*down/);
    expect(await call(tools, "search_context", { label: "memory", query: "x" })).toMatch(/^Error: /);
    expect(await call(tools, "search_context", { label: "kb" })).toMatch(/^Error: query/);
    expect(context.block("kb")?.content).toBe("1 entry indexed.");
  });
});
