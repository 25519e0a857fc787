import { describe, expect, it } from "vitest";
import { StemmaError } from "../../../packages/model/src/errors.js";
import { Session, SessionManager } from "../../../packages/stemma/src/session.js";
import { memory } from "../../../packages/store/src/memory.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";

const BAD: unknown[] = [
  null,
  5,
  Number.NaN,
  1e300,
  true,
  {},
  [],
  [5],
  () => 1,
  Symbol("x"),
  10n,
  new Date(Number.NaN),
  Object.create(null),
  "\0",
];

const message = { id: "m", role: "user", parts: [] };

/** Arguments that each method takes; each is replaced by each of `BAD`. */
const SESSION: Record<string, unknown[]> = {
  forSession: ["s"],
  forUser: ["u"],
  withContext: ["l", {}],
  withCachedPrompt: [{ get: () => null, set: () => {} }],
  onCompaction: [() => null, {}],
  compactAfter: [1, {}],
  onCompactionError: [() => {}],
  withExpandableSummaries: [],
  appendMessage: [message, null, { expectedLeaf: null }],
  appendAll: [[message], null, { expectedLeaf: null }],
  editMessage: ["m", { ...message, id: "n" }],
  selectBranch: ["m"],
  getParent: ["m"],
  getSiblings: ["m"],
  getBranchIds: ["m"],
  getSiblingIds: [["m"]],
  removeCompaction: ["c"],
  readContextBlock: ["memory"],
  onLearning: [async () => [], {}],
  withTitle: [async () => ""],
  withTitles: [async () => ""],
  close: [],
  explainContext: ["m"],
  readContextValue: ["memory"],
  patchContextBlock: ["memory", {}],
  getBlockHistory: ["memory", {}],
  restoreBlock: ["memory", 1, {}],
  revertFrom: ["m", {}],
  updateMessage: [message],
  upsertMessage: [message, null],
  deleteMessages: [["m"]],
  clearMessages: [],
  setActiveLeaf: ["m", {}],
  getHistory: ["m", {}],
  history: [{}],
  getRecentHistory: [5, {}],
  getMessage: ["m"],
  getLatestLeaf: [],
  getBranches: ["m"],
  getPathLength: ["m"],
  getTree: [],
  search: ["q", {}],
  searchPage: ["q", {}],
  searchGroups: ["q", { groupBy: "exchange" }],
  recall: ["q", {}],
  getContextBlock: ["memory"],
  getContextBlocks: [],
  replaceContextBlock: ["memory", "text", {}],
  appendContextBlock: ["memory", "text"],
  addContext: ["new", {}],
  removeContext: ["memory"],
  freezeSystemPrompt: [],
  prepareTurn: [{}],
  getTurns: [{}],
  refreshSystemPrompt: [],
  reminder: [],
  tools: [],
  compact: ["m"],
  getHistoryRowStats: [],
  unloadSkill: ["skills", "a"],
  getLoadedSkillKeys: [],
  addCompaction: ["summary", "m", "m"],
  getCompactions: [],
  expandCompaction: ["c"],
  subscribe: [() => {}],
};

const MANAGER: Record<string, unknown[]> = {
  withContext: ["l", {}],
  withCachedPrompt: [() => ({ get: () => null, set: () => {} })],
  onCompaction: [() => null, {}],
  compactAfter: [1, {}],
  onCompactionError: [() => {}],
  withExpandableSummaries: [],
  withSearchableHistory: ["past"],
  onLearning: [async () => [], {}],
  withTitle: [async () => ""],
  withTitles: [async () => ""],
  forUser: ["u"],
  create: ["name", {}],
  update: ["s", {}],
  claim: ["u", "v"],
  get: ["s"],
  list: [],
  listPage: [{}],
  rename: ["s", "name"],
  delete: ["t", {}],
  eraseUser: ["v", {}],
  retain: [{ keepVersions: 1, metadata: {} }],
  scrub: [],
  getSession: ["s"],
  append: ["s", message, null, { expectedLeaf: null }],
  upsert: ["s", message, null],
  appendAll: ["s", [message], null, { expectedLeaf: null }],
  editMessage: ["s", "m", { ...message, id: "n" }],
  selectBranch: ["s", "m"],
  getParent: ["s", "m"],
  getSiblings: ["s", "m"],
  getBranchIds: ["s", "m"],
  getSiblingIds: ["s", ["m"]],
  removeCompaction: ["s", "c"],
  readContextBlock: ["s", "memory"],
  getHistory: ["s", "m", { summaries: false }],
  getBranches: ["s", "m"],
  getMessageCount: ["s"],
  clearMessages: ["s"],
  deleteMessages: ["s", ["m"]],
  fork: ["s", "m", "name", {}],
  compactAndSplit: ["s", "summary", "name"],
  addCompaction: ["s", "summary", "m", "m"],
  getCompactions: ["s"],
  learnDue: [{}],
  addUsage: ["s", 1, 1, 1, "model"],
  getUsage: [{ by: "day" }],
  search: ["q", {}],
  searchPage: ["q", {}],
  searchGroups: ["q", { groupBy: "exchange" }],
  recall: ["q", {}],
  tools: [],
};

type Call = (...values: unknown[]) => unknown;

/** What a call failed with, of the first value too where it gives a stream. */
async function failureOf(call: () => unknown): Promise<unknown> {
  try {
    const result = await call();
    if (typeof result !== "object" || result === null || !(Symbol.asyncIterator in result)) return undefined;
    await (result as AsyncIterable<unknown>)[Symbol.asyncIterator]().next();
    return undefined;
  } catch (error) {
    return error;
  }
}

async function checkAll(prototype: object, table: Record<string, unknown[]>, make: () => Promise<object>) {
  const members = Object.entries(Object.getOwnPropertyDescriptors(prototype));
  const names = members.flatMap(([name, { value }]) => (value !== undefined && name !== "constructor" ? [name] : []));
  expect(names.filter((name) => !(name in table))).toEqual([]);
  const wrong: string[] = [];
  for (const [name, values] of Object.entries(table)) {
    if (!names.includes(name)) continue;
    for (const place of values.keys()) {
      for (const bad of BAD) {
        const target = (await make()) as Record<string, Call>;
        const error = await failureOf(() => target[name]?.(...values.map((value, at) => (at === place ? bad : value))));
        if (error !== undefined && !StemmaError.isInstance(error)) wrong.push(`${name} ${place} ${String(error)}`);
      }
    }
  }
  expect(wrong).toEqual([]);
}

describe("an argument of a wrong type", () => {
  it("fails with a StemmaError in every method of a session", async () => {
    const store = memory();
    await checkAll(Session.prototype, SESSION, async () => {
      return Session.create(store)
        .withContext("memory")
        .onCompaction(async () => null);
    });
  });

  it("fails with a StemmaError in every method of a session that is in use", async () => {
    const store = memory();
    await checkAll(Session.prototype, SESSION, async () => {
      const session = Session.create(store)
        .forSession("s")
        .withContext("memory")
        .onCompaction(async () => null);
      await session.appendMessage(message);
      await session.tools();
      return session;
    });
  });

  it("fails with a StemmaError in every method of a manager", async () => {
    const store = memory();
    await checkAll(SessionManager.prototype, MANAGER, async () => {
      const manager = SessionManager.create(store);
      await store.sessions.create({ id: "s", name: "s" });
      return manager;
    });
  });

  it("is INVALID_ARGUMENT, and null as a leaf is the active one", async () => {
    const store = memory();
    const manager = SessionManager.create(store);
    const session = manager.getSession("s");
    await session.appendMessage(message);
    const calls: Call[] = [
      () => session.getHistory(5 as never),
      () => session.search(null as never),
      () => session.searchPage({} as never),
      () => session.getMessage(undefined as never),
      () => session.getRecentHistory("5" as never),
      () => session.deleteMessages([5] as never),
      () => session.appendMessage({ ...message, id: "n" }, 5 as never),
      () => session.addCompaction(5 as never, "m", "m"),
      () => session.history(5 as never),
      () => session.appendMessage({ ...message, id: "n" }, null, 5 as never),
      () => session.appendAll([{ ...message, id: "n" }], null, { expectedLeaf: 5 as never }),
      () => session.editMessage(5 as never, message),
      () => session.removeCompaction(5 as never),
      () => session.readContextBlock(5 as never),
      () => manager.getHistory("s", null, { summaries: "no" as never }),
      () => session.compact(5 as never),
      () => session.unloadSkill(5 as never, "a"),
      () => session.unloadSkill("skills", {} as never),
      () => session.subscribe(5 as never),
      () => manager.getSession(5 as never),
      () => manager.search(null as never),
      () => manager.addUsage("s", 1e300, 0),
      () => manager.addUsage("s", 1.5, 0),
      () => manager.addUsage("s", 0, 0, 1e300),
      () => manager.create("x", null as never),
      () => sqlite(":memory:", null as never),
    ];
    for (const call of calls) expect(await failureOf(call)).toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(await session.getHistory(null)).toEqual([message]);
    expect(await manager.getHistory("s", null)).toEqual([message]);
    expect(await session.getPathLength(null)).toBe(1);
    expect(await session.search("x", { leafId: null })).toEqual([]);
    for await (const each of session.history({ leafId: null })) expect(each).toEqual(message);
  });

  it("is repeated by an error with at most 200 characters, and its details with 1,024", async () => {
    const session = Session.create(memory());
    const long = "x".repeat(5_000_000);
    for (const call of [
      () => session.getHistory(long),
      () => session.appendMessage(message, long),
      () => session.addCompaction("s", long, long),
      () => session.expandCompaction(long),
      () => session.replaceContextBlock(long, ""),
      () => session.addContext(long),
      () => session.appendMessage({ ...message, id: long }),
      () => Session.create(long),
      () => SessionManager.create(memory()).rename(long, "x"),
    ]) {
      const error = (await failureOf(call)) as StemmaError;
      expect(error).toBeInstanceOf(StemmaError);
      expect(Math.max(0, ...(error.message.match(/x{2,}/g) ?? []).map(({ length }) => length))).toBeLessThanOrEqual(
        200,
      );
      expect(JSON.stringify(error.details).length).toBeLessThan(5000);
    }
  });
});
