import { describe, expect, it } from "vitest";
import { chatHandler, type RespondOptions } from "../../../packages/stemma/src/ai-sdk.js";
import { Session, SessionManager } from "../../../packages/stemma/src/session.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { memory } from "../../../packages/store/src/memory.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { scriptedModel } from "../../ai-sdk/scripted-model.js";
import { RoundTrips } from "../../helpers/round-trips.js";

const asks = (id: string, text = `Which quince tart did we like in ${id}?`) => ({
  id,
  role: "user",
  parts: [{ type: "text", text }],
});
const says = (id: string) => ({ id, role: "assistant", parts: [{ type: "text", text: "The one with almonds." }] });

/** One with a clock of its own, as that of a server. */
function withClock(store: Store): Store {
  const records = { ...store.records, now: async () => Date.now() };
  return { ...store, records, forUser: (user) => ({ ...withClock(store.forUser(user)), whole: store }) };
}

describe.each([
  ["memory", () => memory()],
  ["SQLite", () => sqlite(":memory:")],
])("on %s, elsewhere", (_, open) => {
  const elsewhere = () => {
    const trips = new RoundTrips();
    return { trips, store: trips.to(open()) };
  };
  const countedBy = (trips: RoundTrips) => async (work: () => Promise<unknown>) => (await trips.during(work)).trips;

  it("a call is one round trip", async () => {
    const { trips, store } = elsewhere();
    const counted = countedBy(trips);
    const session = Session.create(store).forSession("tarts");
    expect(await counted(() => session.appendMessage(asks("u1")))).toBe(1);
    expect(await counted(() => session.appendMessage(says("a1")))).toBe(1);
    expect(await counted(() => session.getHistory())).toBe(1);
    const unawaited = () => Promise.all(["u2", "u3", "u4"].map((id) => session.appendMessage(asks(id))));
    expect(await counted(unawaited)).toBe(1);
  });

  it.each([
    ["a frozen prompt that is stored", true],
    ["a frozen prompt in the process", false],
  ])("prepareTurn with %s", async (_title, isStored) => {
    const { trips, store } = elsewhere();
    const counted = countedBy(trips);
    const sessionOf = () => {
      const session = Session.create(store).forSession("tarts").withContext("notes");
      return isStored ? session.withCachedPrompt() : session;
    };
    const session = sessionOf();
    await session.appendMessage(asks("u1"));
    expect(await counted(() => session.prepareTurn())).toBe(2);
    await session.appendAll([says("a1"), asks("u2")]);
    expect(await counted(() => session.prepareTurn())).toBe(2);
    await session.appendAll([says("a2"), asks("u3")]);
    await sessionOf().replaceContextBlock("notes", "No sugar.");
    expect(await counted(() => session.prepareTurn())).toBe(2);
    await session.appendAll([says("a3"), asks("u4")]);
    expect(await counted(() => sessionOf().prepareTurn())).toBe(2);
  });

  it("prepareTurn for a user, with recall", async () => {
    const { trips, store } = elsewhere();
    const counted = countedBy(trips);
    const sessionOf = (id: string) =>
      Session.create(store)
        .forSession(id)
        .forUser("ada")
        .withContext("memory", { scope: "user" })
        .withContext("notes")
        .withCachedPrompt();
    await sessionOf("earlier").appendAll([asks("u1"), says("a1")]);
    const session = sessionOf("tarts");
    await session.appendMessage(asks("u1"));
    expect(await counted(() => session.prepareTurn())).toBe(2);
    await session.appendAll([says("a1"), asks("u2")]);
    expect(await counted(() => session.prepareTurn({ recall: {} }))).toBe(3);
  });

  it.each([
    ["a first question", {}, 5],
    ["a later question", { before: 2 }, 5],
    ["a question with the whole chat", { before: 2, sendsAll: true }, 5],
    ["a question with recall", { before: 1, recall: {} }, 6],
  ])("chatHandler begins to answer %s", async (_title, { before = 0, sendsAll = false, recall }: Turn, begins) => {
    const trips = new RoundTrips();
    const store = trips.to(withClock(open()));
    const sessions = SessionManager.create(store)
      .withContext("memory", { scope: "user" })
      .withContext("notes")
      .withCachedPrompt();
    const { model } = scriptedModel(() => "The one with almonds.");
    const handler = chatHandler({ sessions, model, recall, authenticate: () => ({ userId: "ada" }) });
    const ask = async (id: string) => {
      const earlier = sendsAll ? await sessions.forUser("ada").getSession("tarts").getHistory() : [];
      const ended: Promise<unknown>[] = [];
      const waitUntil: RespondOptions["waitUntil"] = (work) => ended.push(work);
      const body = JSON.stringify({ id: "tarts", messages: [...earlier, asks(id)] });
      const start = trips.trips;
      const response = await handler(new Request("http://host/api/chat", { method: "POST", body }), { waitUntil });
      const reader = response.body?.getReader();
      await reader?.read();
      const begun = trips.trips - start;
      for (let read = await reader?.read(); read?.done === false; read = await reader?.read());
      await Promise.all(ended);
      return begun;
    };
    for (let index = 1; index <= before; index += 1) await ask(`u${index}`);
    expect(await ask("asked")).toBe(begins);
  });
});

interface Turn {
  readonly before?: number;
  readonly sendsAll?: boolean;
  readonly recall?: object;
}
