import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { StemmaError } from "../../../packages/model/src/errors.js";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import { createSession, createSessionStorage, StoreSessionStorage } from "../../../packages/stemma/src/agent.js";
import { chatHandler, receive, repair, respond, sessionMemory } from "../../../packages/stemma/src/ai-sdk.js";
import { claudeSessionStore, memoryTool } from "../../../packages/stemma/src/claude.js";
import { copyStore, exportStore } from "../../../packages/stemma/src/copy.js";
import { jsonlFiles } from "../../../packages/stemma/src/copy-node.js";
import { exportSession, importSession } from "../../../packages/stemma/src/formats.js";
import { StemmaChatMessageHistory } from "../../../packages/stemma/src/langchain.js";
import { StemmaSaver, StemmaStore } from "../../../packages/stemma/src/langgraph.js";
import { createMcpServer } from "../../../packages/stemma/src/mcp.js";
import { openaiAgentsSession } from "../../../packages/stemma/src/openai-agents.js";
import { instrument } from "../../../packages/stemma/src/opentelemetry.js";
import { R2SkillProvider, Session, SessionManager } from "../../../packages/stemma/src/session.js";
import { createStudio } from "../../../packages/stemma/src/studio.js";
import { sanitizeToolPairs, truncateOlderMessages } from "../../../packages/stemma/src/utils.js";
import { memory } from "../../../packages/store/src/memory.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";

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

it("what is no store is refused at the call, and named", async () => {
  const store = memory();
  const takers: Record<string, (given: never) => unknown> = {
    "exportStore() needs a store": exportStore,
    "copyStore() copies from a store": (given) => copyStore(given, store),
    "copyStore() copies to a store": (given) => copyStore(store, given),
    "exportSession() needs a store": (given) => exportSession(given, "chat"),
    "importSession() needs a store": (given) => importSession(given, { messages: [] } as never),
    "instrument() needs a store": instrument,
    "A StoreSessionStorage needs a store": (given) => new StoreSessionStorage(given),
  };
  const mistakes: [unknown, string][] = [
    [Session.create(store), "got a session"],
    [SessionManager.create(store), "got a SessionManager"],
    ["chat.db", "got string"],
    [undefined, "got undefined"],
    [Promise.resolve(store), "got a promise: await it"],
  ];
  for (const [begin, take] of Object.entries(takers)) {
    for (const [given, end] of mistakes) {
      const message = expect.stringMatching(`^${begin.replace(/[()]/g, "\\$&")}.*; ${end}\\.$`);
      expect(await errorOf(() => take(given as never))).toMatchObject({ code: "STORE_UNSUPPORTED", message });
    }
  }
  expect(() => jsonlFiles(store as never)).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
});

it("a session needs a name", async () => {
  const manager = SessionManager.create(memory());
  const message = "A session's name must be a text; got undefined.";
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
    expect(() => take(history)).toThrow(/must be an array of messages; got a promise: await it/);
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
  expect(await set_context?.execute({ content: "x" })).toBe(
    "Error: label is missing: send a text (one of memory, todos).",
  );
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

it("what is no session is refused where a session is wanted, before anything waits", async () => {
  const store = memory();
  const manager = SessionManager.create(store);
  const request = new Request("http://host/", { method: "POST", body: "{}" });
  const makers: Record<string, (session: never) => unknown> = {
    "memoryTool()": (given) => memoryTool(given),
    StemmaChatMessageHistory: (given) => new StemmaChatMessageHistory(given),
    "openaiAgentsSession()": (given) => openaiAgentsSession(given),
    "sessionMemory()": (given) => sessionMemory(given),
    "receive()": (given) => receive(given, request),
    "respond()": (given) => respond(given, {} as never),
  };
  for (const [what, make] of Object.entries(makers)) {
    for (const [given, got] of [
      [store, "a store"],
      [manager, "a SessionManager"],
      [undefined, "undefined"],
      [null, "null"],
      ["s", "string"],
    ]) {
      const message = `${what} takes a session, as Session.create(store) or manager.getSession(id) give it; got ${got}.`;
      expect(await errorOf(() => make(given as never))).toMatchObject({ code: "INVALID_ARGUMENT", message });
    }
  }
});

it("a session or a manager of another copy of the package is told from what is none", async () => {
  vi.resetModules();
  const other: typeof import("../../../packages/stemma/src/session.js") = await import(
    "../../../packages/stemma/src/session.js"
  );
  expect(other.Session).not.toBe(Session);
  const store = memory();
  const session = other.Session.create(store).forSession("s") as unknown as Session;
  const message = expect.stringContaining("made by another copy of stemma");
  const refused = { code: "INVALID_ARGUMENT", message };
  const request = new Request("http://host/", { method: "POST", body: "{}" });
  expect(await errorOf(() => memoryTool(session))).toMatchObject(refused);
  expect(await errorOf(() => new StemmaChatMessageHistory(session))).toMatchObject(refused);
  expect(await errorOf(() => openaiAgentsSession(session))).toMatchObject(refused);
  expect(await errorOf(() => receive(session, request))).toMatchObject(refused);
  expect(await errorOf(() => respond(session, {} as never))).toMatchObject(refused);
  const sessions = other.SessionManager.create(store) as unknown as SessionManager;
  const authenticate = () => null;
  expect(await errorOf(() => chatHandler({ sessions, model: "any/model", authenticate }))).toMatchObject(refused);
  // It uses public methods only.
  await session.appendMessage({ id: "m", role: "user", parts: [{ type: "text", text: "Hello" }] });
  expect((await sessionMemory(session)).messages).toHaveLength(1);
});

it("options with which a chat handler could not answer are refused when it is made", async () => {
  const store = memory();
  const good = { sessions: SessionManager.create(store), model: "any/model", authenticate: () => null };
  const wrong: [string, object][] = [
    ["sessions must be a SessionManager, as SessionManager.create(store) gives it; got a store.", { sessions: store }],
    ["sessions must be", { sessions: Session.create(store) }],
    ["sessions must be", { sessions: undefined }],
    ["The model of chatHandler() must be", { model: undefined }],
    ["The model of chatHandler() must be", { model: "" }],
    ["The model of chatHandler() must be", { model: {} }],
    ["The tools of chatHandler() must be", { tools: [] }],
    ["The settings of chatHandler() must be", { settings: 5 }],
    ["The authenticate of chatHandler() must be", { authenticate: undefined }],
    ["The basePath of chatHandler() must be", { basePath: "api/chat/" }],
    ["The basePath of chatHandler() must be", { basePath: "/api/chat?x=1" }],
    ["The basePath of chatHandler() must be", { basePath: "/a chat" }],
    ["The basePath of chatHandler() must be", { basePath: "http://host/api/chat" }],
    ["The basePath of chatHandler() must be", { basePath: 5 }],
    ['The whenBusy of chatHandler() must be "queue" or "reject"', { whenBusy: "nope" }],
    ["The stopWhen of chatHandler() must be", { stopWhen: 20 }],
    ["The stopWhen of chatHandler() must be", { stopWhen: [() => true, 20] }],
    ["The origins of chatHandler() must be", { origins: "https://app.example.com" }],
    ["The origins of chatHandler() must be", { origins: ["https://app.example.com/"] }],
    ["The origins of chatHandler() must be", { origins: ["*"] }],
    ["The maxBodyBytes of chatHandler() must be", { maxBodyBytes: "1mb" }],
    ["The lease of chatHandler() must be", { lease: 0 }],
    ["The cacheTtl of chatHandler() must be", { cacheTtl: -1 }],
    ["The maxTokens of recall must be", { recall: { maxTokens: 0 } }],
    ['"tokens" is none of them', { recall: { tokens: 5 } }],
    ["The cost of chatHandler() must be", { cost: 5 }],
    ["The messageMetadata of chatHandler() must be", { messageMetadata: {} }],
    ["The onError of chatHandler() must be", { onError: "log" }],
    ['"user" is none of them', { user: "ada" }],
  ];
  for (const [says, options] of wrong) {
    const error = await errorOf(() => chatHandler({ ...good, ...options } as never));
    const message = expect.stringContaining(says);
    expect(error, JSON.stringify(options)).toMatchObject({ code: "INVALID_ARGUMENT", message });
  }
  expect(await errorOf(() => chatHandler(undefined as never))).toMatchObject({ code: "INVALID_ARGUMENT" });
  for (const basePath of ["", "/", "/api/chat/", "/%C3%A4/~a/b.c"]) chatHandler({ ...good, basePath });
  for (const origin of ["https://app.example.com", "http://localhost:3000", "capacitor://localhost", "null"])
    chatHandler({ ...good, origins: [origin] });
  const session = Session.create(store);
  const request = new Request("http://host/", { method: "POST", body: "{}" });
  for (const options of [{ whenBusy: "nope" }, { lease: "1" }, { model: 5 }, { tools: [] }, { user: "ada" }]) {
    expect(await errorOf(() => receive(session, request, options as never))).toMatchObject({
      code: "INVALID_ARGUMENT",
    });
  }
  for (const options of [{ cost: 5 }, { waitUntil: true }, { onFinish: () => {} }]) {
    const refused = { code: "INVALID_ARGUMENT", message: expect.not.stringContaining("Call receive") };
    expect(await errorOf(() => respond(session, {} as never, options as never))).toMatchObject(refused);
  }
});

it("a message as the APIs of models have it is shown as it is written here", async () => {
  const session = Session.create(memory());
  const message = { role: "user", content: "I live in Oslo" };
  const line = '{ id: "m1", role: "user", parts: [{ type: "text", text: "I live in Oslo" }] }';
  const told = { code: "INVALID_MESSAGE", message: `A message has parts, not content. Write ${line}.` };
  const calls: (() => unknown)[] = [
    () => session.appendMessage(message),
    () => session.appendAll([message]),
    () => session.upsertMessage(message),
    () => session.updateMessage(message),
    () => repair([message as never], "openai"),
    () => receive(session, new Request("http://host/", { method: "POST", body: JSON.stringify({ message }) })),
  ];
  for (const call of calls) expect(await errorOf(call), String(call)).toMatchObject(told);
  const named = { ...message, id: "q1", content: [] };
  expect(await errorOf(() => session.appendMessage(named))).toMatchObject({
    message: expect.stringContaining('Write { id: "q1", role: "user", parts: [{ type: "text", text: "Hello" }] }.'),
  });
});

it("a manager and a session have a model name chats under both names", async () => {
  const title = async () => "A name";
  for (const name of ["withTitle", "withTitles"] as const) {
    const manager = SessionManager.create(memory())[name](title);
    await manager.append("m", { id: "q", role: "user", parts: [{ type: "text", text: "Hi" }] });
    await manager.append("m", { id: "a", role: "assistant", parts: [{ type: "text", text: "Hello" }] });
    await manager.getSession("m").close();
    expect((await manager.get("m"))?.name).toBe("A name");
    const session = Session.create(memory())[name](title);
    await session.appendMessage({ id: "q", role: "user", parts: [] });
    await session.close();
  }
});

it("a promise that nobody waited for is told as one", async () => {
  const session = Session.create(memory()).withContext("memory");
  const later = <T>(value: T): never => Promise.resolve(value) as never;
  const store = later(memory());
  const message = { id: "m", role: "user", parts: [] };
  const calls: (() => unknown)[] = [
    () => Session.create(store),
    () => new Session(store),
    () => SessionManager.create(store),
    () => createMcpServer(store),
    () => createStudio(store, { authorize: () => true }),
    () => claudeSessionStore(store),
    () => new StemmaSaver(store),
    () => new StemmaStore(store),
    () => memoryTool(later(session)),
    () => memoryTool(session, later({ label: "notes" })),
    () => sqlite(later(":memory:")),
    () => session.appendMessage(later(message)),
    () => session.appendAll(later([message])),
    () => session.appendAll([later(message)]),
    () => session.updateMessage(later(message)),
    () => session.deleteMessages(later(["m"])),
    () => session.getMessage(later("m")),
    () => session.replaceContextBlock("memory", later("text")),
    () => session.search("x", later({ limit: 1 })),
  ];
  for (const call of calls) {
    const error = await errorOf(call);
    expect(StemmaError.isInstance(error), String(call)).toBe(true);
    expect((error as Error).message, String(call)).toMatch(/[Gg]ot a promise: await it\.$/);
  }
});
