import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createSession, createSessionStorage } from "../../src/agent.js";
import { sessionMemory } from "../../src/ai-sdk.js";
import { memoryTool } from "../../src/claude.js";
import { StemmaSaver, StemmaStore } from "../../src/langgraph.js";
import { createMcpServer } from "../../src/mcp.js";
import { memory } from "../../src/memory.js";
import { postgres } from "../../src/postgres.js";
import { R2SkillProvider, Session, SessionManager } from "../../src/session.js";
import { sqlite } from "../../src/sqlite.js";
import { createStudio } from "../../src/studio.js";
import { sanitizeToolPairs, truncateOlderMessages } from "../../src/utils.js";

// What newcomers get wrong first. Each error says what to do, and none is a TypeError of ours.

const errorOf = async (work: () => unknown): Promise<unknown> => {
  try {
    await work();
  } catch (error) {
    return error;
  }
  return "no error";
};

it("a server that does not answer is told from a connection that was lost", async () => {
  const store = postgres("postgres://127.0.0.1:1/nowhere");
  const message = expect.stringMatching(/does not answer \(.*ECONNREFUSED.*\): check its address/);
  expect(await errorOf(() => Session.create(store).getHistory())).toMatchObject({ code: "CONNECTION_LOST", message });
  await store.close();
});

it("a storage that is made by its name says which option is missing", () => {
  const make = createSessionStorage as (type: string, options?: unknown) => unknown;
  for (const [type, options, needs] of [
    ["file", undefined, "{ directory }"],
    ["file", "./sessions", "{ directory }"],
    ["file", { path: "./sessions" }, "{ directory }"],
    ["sqlite", undefined, "{ path }"],
    ["redis", {}, "{ client } or { url }"],
  ] as const) {
    const message = expect.stringContaining(`needs ${needs}`);
    expect(() => make(type, options)).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT", message }));
  }
  const noClient = expect.objectContaining({ code: "STORE_UNSUPPORTED" });
  expect(() => make("redis", { client: undefined, url: "" })).toThrow(noClient);
  expect(() => make("redis", { client: {} })).toThrow(noClient);
});

it("a session needs a name", async () => {
  const manager = SessionManager.create(memory());
  const message = "A session's name must be a text.";
  expect(await errorOf(() => manager.create(undefined as never))).toMatchObject({ code: "INVALID_ARGUMENT", message });
});

it("what is no tool and what is no model is refused before the first turn", async () => {
  for (const tools of [5, [], { weather: 5 }, { weather: null }]) {
    expect(await errorOf(() => createSession({ tools: tools as never }))).toMatchObject({ code: "INVALID_ARGUMENT" });
  }
  for (const model of [{}, null, 5]) {
    expect(await errorOf(() => createSession({ model: model as never }))).toMatchObject({ code: "MODEL_UNAVAILABLE" });
  }
});

it("a history that nobody awaited is no array of messages", () => {
  const history = Session.create(memory()).getHistory() as never;
  for (const take of [truncateOlderMessages, sanitizeToolPairs]) {
    expect(() => take(history)).toThrow(/takes an array of messages; got a promise: await it/);
    expect(() => take(undefined as never)).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
  }
});

it("a bucket that the Worker's configuration does not name is refused when the provider is made", () => {
  expect(() => new R2SkillProvider(undefined as never)).toThrow(/takes a bucket of R2: got undefined/);
  expect(() => new R2SkillProvider({ list() {}, get() {}, put() {} } as never)).toThrow(/this one has no head\(\)/);
});

it("a file that cannot be opened is named", async () => {
  const folder = mkdtempSync(join(tmpdir(), "stemma-folder-"));
  expect(await errorOf(() => sqlite(folder))).toMatchObject({ message: expect.stringContaining(folder) });
});

it("a path or a URL is no store, and the error says what makes one of it", () => {
  expect(() => Session.create("chat.db" as never)).toThrow(/pass sqlite\("chat\.db"\)/);
  expect(() => SessionManager.create("postgres://localhost/app" as never)).toThrow(/pass postgres\("postgres:/);
});

it("a tool call without a label is told which there are", async () => {
  const session = Session.create(memory()).withContext("memory", {}).withContext("todos", {});
  const { set_context } = await session.tools();
  expect(await set_context?.execute({ content: "x" })).toBe("Error: label: must be one of: memory, todos");
});

it("an option of another name is refused where options say what can be reached", async () => {
  const store = memory();
  const manager = SessionManager.create(store);
  const session = Session.create(store);
  const user = "ada";
  const calls: [string, (options: never) => unknown][] = [
    ["userId, project", (options) => createMcpServer(store, options)],
    ["authorize", (options) => createStudio(store, options)],
    ["label, scope", (options) => memoryTool(session, options)],
    ["keep, messages", (options) => new StemmaSaver(store, options)],
    ["label, index", (options) => new StemmaStore(store, options)],
    ["userId", (options) => manager.listPage(options)],
    ["sessionIds", (options) => manager.search("x", options)],
    ["sessionIds", (options) => manager.searchPage("x", options)],
    ["leafId", (options) => session.search("x", options)],
    ["userId", (options) => manager.retain(options)],
    ["userId", (options) => manager.getUsage(options)],
    ["userId", (options) => manager.create("x", options)],
    ["recall", (options) => session.prepareTurn(options)],
    ["recall", (options) => sessionMemory(session, options)],
    ["userId", (options) => session.prepareTurn({ recall: options })],
  ];
  for (const [known, call] of calls) {
    const error = await errorOf(() => call({ user } as never));
    const message = expect.stringMatching(new RegExp(`${known}.*; "user" is none of them`));
    expect(error, String(call)).toMatchObject({ code: "INVALID_ARGUMENT", message, details: { option: "user" } });
  }
  expect(await manager.list()).toEqual([]);
});

it("a server is made of a store", async () => {
  for (const host of ["x", null, {}]) {
    const unsupported = { code: "STORE_UNSUPPORTED" };
    expect(await errorOf(() => createMcpServer(host as never))).toMatchObject(unsupported);
    expect(await errorOf(() => createStudio(host as never, { authorize: () => true }))).toMatchObject(unsupported);
  }
});
