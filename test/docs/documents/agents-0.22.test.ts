// What a program that was written for `agents` 0.22 uses beyond the documents.
import { describe, expect, it } from "vitest";
import {
  AgentContextProvider,
  AgentSessionProvider,
  type HistoryRowStat,
  isSearchProvider,
  isSkillProvider,
  isWritableProvider,
  type PostgresClient,
  type PostgresConnection,
  type RecentHistoryResult,
  Session,
  type SessionContextOptions,
  SessionManager,
  type SessionManagerOptions,
  type SessionTokenCounter,
  type SessionTokenCounterInput,
  type SqlProvider,
} from "../../../packages/stemma/src/session.js";
import { findTailCutByTokens, sanitizeToolPairs } from "../../../packages/stemma/src/utils.js";
import { memory } from "../../../packages/store/src/memory.js";
import { Agent } from "../../documents/host.js";
import { textMessage } from "../../helpers/messages.js";

describe("a program written for agents 0.22", () => {
  it("tells providers apart with the exported guards, whatever they are given", () => {
    const get = () => null;
    const call = () => {};
    const kinds = (value: unknown) => [isWritableProvider, isSkillProvider, isSearchProvider].map((is) => is(value));
    expect(kinds({ get })).toEqual([false, false, false]);
    expect(kinds({ get, set: call })).toEqual([true, false, false]);
    expect(kinds({ get, load: call, set: call })).toEqual([true, true, false]);
    expect(kinds({ get, search: call })).toEqual([false, false, true]);
    for (const value of [null, undefined, "text", 5]) expect(kinds(value)).toEqual([false, false, false]);
  });

  it("finds the types under their names", async () => {
    const options: SessionContextOptions = { maxTokens: 100 };
    const none: SessionManagerOptions = {};
    const counter: SessionTokenCounter = ({ messages }: SessionTokenCounterInput) => messages.length;
    const host: SqlProvider = new Agent();
    expect(host.sql<{ one: number }>`SELECT 1 AS one`[0]?.one).toBe(1);
    const connection: PostgresConnection = { execute: async () => ({ rows: [] }) };
    const clients: PostgresClient[] = [connection, { query: async () => ({ rows: [] }) }];
    expect(clients).toHaveLength(2);
    const manager = new SessionManager(host, none).withContext("memory", options).compactAfter(1000, {
      tokenCounter: counter,
    });
    await manager.append("a", textMessage("1", "Hello"));
    const recent: RecentHistoryResult = await manager.getSession("a").getRecentHistory(1000, 1);
    const stats: HistoryRowStat[] | null = await manager.getSession("a").getHistoryRowStats();
    expect([recent.messages.length, stats?.length]).toEqual([1, 1]);
  });

  it("reads recent messages and sizes through the provider too", async () => {
    const provider = new AgentSessionProvider(new Agent(), "one");
    for (const id of ["a", "b", "c"]) await provider.appendMessage(textMessage(id, id));
    const { messages, truncated } = await provider.getRecentHistory(null, 1, 2);
    expect([messages.map(({ id }) => id), truncated]).toEqual([["b", "c"], true]);
    expect((await provider.getHistoryRowStats()).map(({ id }) => id)).toEqual(["a", "b", "c"]);
    expect(await provider.getPathLength(null)).toBe(3);
  });

  it("gives a context provider its label by the block that uses it", async () => {
    const store = memory();
    const early = new AgentContextProvider(store);
    await early.set("written before");
    expect(await early.get()).toBe("written before");
    const session = Session.create(store).withContext("memory", { provider: new AgentContextProvider(store) });
    await session.replaceContextBlock("memory", "a fact");
    expect(await new AgentContextProvider(store, "memory").get()).toBe("a fact");
    expect(await early.get()).toBe("written before");
  });

  it("finds the place of the tail at once", () => {
    const messages = Array.from({ length: 10 }, (_, index) => textMessage(`${index}`, "word ".repeat(20)));
    // 30 tokens each.
    expect(findTailCutByTokens(messages, 2, 60, 2)).toBe(8);
    expect(findTailCutByTokens(messages, 2, 0, 5)).toBe(5);
    expect(findTailCutByTokens(messages, 2, 0, 0)).toBe(9);
    expect(findTailCutByTokens(messages, 8, 100_000)).toBe(8);
    expect(findTailCutByTokens(messages, 2)).toBe(2);
    expect(findTailCutByTokens([], 0)).toBe(0);
    expect(findTailCutByTokens(messages.slice(0, 2), 3)).toBe(2);
    const call = {
      id: "c",
      role: "assistant",
      parts: [{ type: "tool-call", toolCallId: "1", toolName: "x", input: {} }],
    };
    const result = {
      id: "r",
      role: "tool",
      parts: [{ type: "tool-result", toolCallId: "1", toolName: "x", output: "" }],
    };
    const history = [textMessage("a", "a"), call, result, textMessage("b", "b")];
    expect(findTailCutByTokens(history, 0, 5, 2)).toBe(1);
    expect(sanitizeToolPairs(history.slice(2))).toEqual([textMessage("b", "b")]);
  });

  it("is told which store a Durable Object without a sql template needs", () => {
    const object = { ctx: { storage: { sql: { exec: () => {} }, transactionSync: () => {} } }, env: {} };
    for (const host of [object, object.ctx]) {
      expect(() => Session.create(host)).toThrow(/durableObject\(ctx\)/);
      expect(() => Session.create(host)).toThrow(expect.objectContaining({ code: "STORE_UNSUPPORTED" }));
    }
    expect(() => Session.create({})).toThrow(/neither a store/);
  });
});
