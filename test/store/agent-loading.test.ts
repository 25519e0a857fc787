import { setTimeout as pause } from "node:timers/promises";
import { expect, it } from "vitest";
import { AgentContextProvider, AgentSearchProvider, Session, SessionManager } from "../../src/session.js";
import { agentStore } from "../../src/storage/agent-store.js";
import type { Store } from "../../src/storage/contract.js";
import { LoadedLater } from "../../src/storage/loaded-later.js";
import { openAgentStore } from "../../src/storage/sqlite/agent-sql.js";
import { observeStore } from "../../src/telemetry/observe-store.js";
import { callsOf, play, stepsOf } from "../../src/testing/call-sequences.js";
import { chain, collect, historyIds, idsOf, message } from "../../src/testing/samples.js";
import { openDatabase } from "./databases.js";

type Engine = typeof import("../../src/storage/sqlite/agent-sql.js");

const loadEngine = (): Promise<Engine> => import("../../src/storage/sqlite/agent-sql.js");

function newHost() {
  const database = openDatabase();
  return {
    sql: (strings: TemplateStringsArray, ...values: unknown[]) => {
      const statement = database.prepare(strings.join("?"));
      return statement.reader ? statement.all(...values) : void statement.run(...values);
    },
    transactionSync: <T>(work: () => T): T => database.transaction(work)(),
  };
}

/** A store whose engine is there only after a while, or after it could not be loaded `failures` times. */
function slowStore({ milliseconds = 5, failures = 0, host = newHost() } = {}): { store: Store; loads: () => number } {
  let loads = 0;
  const engine = new LoadedLater(async () => {
    loads += 1;
    await pause(milliseconds);
    if (loads <= failures) throw new Error("no such chunk");
    return loadEngine();
  });
  return { store: agentStore(host, engine), loads: () => loads };
}

const traitsOf = (value: object): unknown =>
  Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => key !== "order")
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, each]) => [key, typeof each === "function" ? "a call" : each]),
  );

it("has everything that the store with the engine has", () => {
  const host = newHost();
  for (const bare of [host, { sql: host.sql }]) {
    const [late, open] = [agentStore(bare), openAgentStore(bare)];
    const [ofUser, openOfUser] = [late.forUser("ada"), open.forUser("ada")];
    for (const [given, wanted] of [
      [late, open],
      [ofUser, openOfUser],
    ] as const) {
      const { sessions, blocks, entries, records, whole, ...own } = given;
      const { sessions: a, blocks: b, entries: c, records: d, whole: _, ...rest } = wanted;
      expect(traitsOf(own)).toEqual(traitsOf(rest));
      const parts = [sessions, blocks, entries, records, given.session("s")].map(traitsOf);
      expect(parts).toEqual([a, b, c, d, wanted.session("s")].map(traitsOf));
    }
    expect(late.order).toBe(open.order);
    expect(ofUser.whole).toBe(late);
    expect(ofUser.forUser("ada").whole).toBe(late);
  }
});

it("refuses at once what it can refuse without the engine, and loads nothing for it", async () => {
  const { store, loads } = slowStore();
  expect(() => store.session("stemma:user:ada")).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
  expect(() => store.forUser("")).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
  expect(() => store.forUser("ada").forUser("bob")).toThrow(expect.objectContaining({ code: "SESSION_OWNED" }));
  expect(() => Session.create({})).toThrow(expect.objectContaining({ code: "STORE_UNSUPPORTED" }));
  store.session("chat");
  await pause(10);
  expect(loads()).toBe(0);
});

it("does what is called while the engine is loaded in the order of the calls, whichever object is called", async () => {
  const { store } = slowStore();
  const manager = new SessionManager(store);
  const session = Session.create(store).forSession("chat");
  const block = new AgentContextProvider(store, "memory").forSession("chat");
  const entries = new AgentSearchProvider(store, "notes").forSession("chat");
  session.appendMessage(message("a"));
  manager.append("chat", message("b"));
  block.set("one");
  entries.set("k", "apples");
  const early = session.getHistory();
  const stream = session.history();
  const first = block.get();
  const count = entries.get();
  manager.deleteMessages("chat", ["a"]);
  block.append("two");
  entries.set("l", "pears");
  const late = Session.create(store).forSession("chat").getHistory();
  const [found, second] = [entries.search("apples"), block.get()];
  expect(idsOf(await early)).toEqual(["a", "b"]);
  expect(idsOf(await late)).toEqual(["b"]);
  expect([await first, await second, await count]).toEqual(["one", "one\ntwo", "1 entry indexed."]);
  expect(await found).toContain("apples");
  expect(idsOf(await collect(stream))).toEqual(["a", "b"]);
});

it("does the same with random calls, whether the engine is there, or comes before or between them", async () => {
  const calls = callsOf("store", true);
  for (let seed = 1; seed <= 8; seed += 1) {
    const steps = stepsOf(seed, 14);
    const results = [];
    for (const [waiting, milliseconds] of [
      [true, 0],
      [false, 0],
      [false, 3],
    ] as const) {
      const { store } = slowStore({ milliseconds });
      const make = () =>
        Session.create(store).forSession("two").withContext("memory").withContext("notes").withCachedPrompt();
      const objects: [Session, Session] = [make(), make()];
      const started = objects[0].appendAll(["m0", "m1", "m2"].map((id) => message(id)));
      if (waiting) await started;
      const result = await play(objects, calls, steps, waiting);
      const blocks = await store.blocks.list({ sessionId: "two" });
      results.push({ seed, result, blocks: blocks.map(({ label, content, version }) => [label, content, version]) });
    }
    expect(results[1]).toEqual(results[0]);
    expect(results[2]).toEqual(results[0]);
  }
});

it("stores what was given at the call, whatever becomes of it while the engine is loaded", async () => {
  const { store } = slowStore();
  const given = message("a", "as it was");
  const ids = ["x"];
  const bytes = new Uint8Array([1, 2, 3]);
  const appended = store.session("chat").append([given]);
  store.session("chat").append([message("x"), message("y")]);
  store.session("chat").delete(ids);
  store.records.set({ sessionId: "chat", label: "runs" }, "k", bytes);
  Object.assign(given, message("b", "changed"));
  ids.push("y");
  bytes.fill(0);
  await appended;
  expect(await store.session("chat").message("a")).toEqual(message("a", "as it was"));
  expect(await historyIds(Session.create(store).forSession("chat"))).toEqual(["a", "y"]);
  expect((await store.records.get({ sessionId: "chat", label: "runs" }, "k"))?.value).toEqual(
    new Uint8Array([1, 2, 3]),
  );
});

it("fails calls whose engine cannot be loaded, and loads it again for a later one", async () => {
  const { store, loads } = slowStore({ failures: 1 });
  const session = Session.create(store).forSession("chat");
  const calls = [session.appendMessage(message("a")), session.getHistory(), collect(session.history())];
  for (const call of calls) await expect(call).rejects.toThrow("no such chunk");
  await chain(session, ["b", "c"]);
  expect(await historyIds(session)).toEqual(["b", "c"]);
  expect(loads()).toBe(2);
});

it("tells an observer of every statement, from the first one on", async () => {
  const { store } = slowStore();
  const told: string[] = [];
  const observed = observeStore(
    store,
    (what, work) => {
      told.push(what.type);
      return work((part) => part());
    },
    { statements: true },
  );
  await Session.create(observed).appendMessage(message("a"));
  expect(told).toContain("statement");
});

it("is closed once it was closed, also before the engine is there", async () => {
  const { store } = slowStore();
  const closed = store.close();
  await expect(store.session("chat").leaf()).rejects.toMatchObject({ code: "STORE_CLOSED" });
  await closed;
});
