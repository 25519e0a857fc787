import { type ToolSet, tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { remote } from "../../../packages/client/src/remote/remote.js";
import { chatHandler, type RespondOptions } from "../../../packages/stemma/src/ai-sdk.js";
import { Session, SessionManager } from "../../../packages/stemma/src/session.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { memory } from "../../../packages/store/src/memory.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { scriptedModel } from "../../ai-sdk/scripted-model.js";
import { RoundTrips } from "../../helpers/round-trips.js";
import { serverFor } from "../../server/remote-target.js";

const HOST = "http://memory.test";

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

describe.each<[string, (trips: RoundTrips) => Store]>([
  ["memory, elsewhere", (trips) => trips.to(withClock(memory()))],
  ["SQLite, elsewhere", (trips) => trips.to(withClock(sqlite(":memory:")))],
  ["a server, by stemma/remote", (trips) => remote({ baseUrl: HOST, fetch: trips.network(serverFor(memory())) })],
])("on %s", (_, open) => {
  const elsewhere = () => {
    const trips = new RoundTrips();
    return { trips, store: open(trips) };
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
    const facts = { sessionId: "", scope: "user", label: "facts" } as const;
    await store.forUser("ada").entries.set(facts, { key: "tart", content: "Likes quince tart best." });
    expect(await counted(() => session.prepareTurn({ recall: {} }))).toBe(3);
  });

  it.each<[string, Turn, number]>([
    ["a first question", { before: 0 }, 5],
    ["a later question", {}, 5],
    ["a question with the whole chat", { body: (all) => ({ messages: [...all, asks("asked")] }) }, 5],
    ["a question with recall", { recall: {} }, 6],
    ["a question in a chat that may be compacted", { compactAfter: 1_000_000 }, 6],
    ["an edited question", { body: () => ({ message: asks("u2", "Which pie?"), messageId: "u2" }) }, 6],
    ["a question again", { body: (all) => ({ trigger: "regenerate-message", messageId: all.at(-1)?.id }) }, 6],
    ["the result of a client's tool", { isCall: true, body: (all) => ({ message: withOutput(all.at(-1)) }) }, 6],
  ])("chatHandler begins to answer %s", async (_title, turn, begins) => {
    const { trips, store } = elsewhere();
    expect(await tripsToBegin(trips, store, turn)).toBeLessThanOrEqual(begins);
  });
});

it("chatHandler does not look after its answer while it waits for a store that is far away", async () => {
  const trips = new RoundTrips(250);
  expect(await tripsToBegin(trips, trips.to(withClock(memory())), { before: 0 })).toBeLessThanOrEqual(5);
});

/** How often a chat handler waits for its store until it begins to answer. */
async function tripsToBegin(trips: RoundTrips, store: Store, turn: Turn): Promise<number> {
  const { before = 2, body = () => ({ message: asks("asked") }), recall, compactAfter, isCall = false } = turn;
  const sessions = SessionManager.create(store)
    .withContext("memory", { scope: "user" })
    .withContext("notes")
    .withCachedPrompt();
  if (compactAfter !== undefined) sessions.onCompaction(async () => null).compactAfter(compactAfter);
  const { model } = scriptedModel(() => (isCall ? { call: "place" } : "The one with almonds."));
  const tools = (isCall ? { place: tool({ inputSchema: z.object({}) }) } : {}) as ToolSet;
  const authenticate = () => ({ userId: "ada" });
  const handler = chatHandler({ sessions, model, recall, tools, authenticate });
  const post = async (submitted: object) => {
    const ended: Promise<unknown>[] = [];
    const waitUntil: RespondOptions["waitUntil"] = (work) => ended.push(work);
    const request = new Request("http://host/api/chat", {
      method: "POST",
      body: JSON.stringify({ id: "tarts", ...submitted }),
    });
    const start = trips.trips;
    const response = await handler(request, { waitUntil });
    const reader = response.body?.getReader();
    await reader?.read();
    const begun = trips.trips - start;
    for (let read = await reader?.read(); read?.done === false; read = await reader?.read());
    await Promise.all(ended);
    expect(response.status).toBe(200);
    return begun;
  };
  const facts = { sessionId: "", scope: "user", label: "facts" } as const;
  if (recall) await store.forUser("ada").entries.set(facts, { key: "tart", content: "Likes quince tart best." });
  for (let index = 1; index <= before; index += 1) await post({ message: asks(`u${index}`) });
  const all = await sessions.forUser("ada").getSession("tarts").getHistory();
  return post(body(all));
}

type Messages = readonly { readonly id: string; readonly parts: readonly object[] }[];

interface Turn {
  /** How many questions were answered before. Default 2. */
  readonly before?: number;
  /** What is posted. Default: a new question. */
  readonly body?: (all: Messages) => object;
  readonly recall?: object;
  readonly compactAfter?: number;
  /** The model calls a tool that the client runs. */
  readonly isCall?: boolean;
}

function withOutput(answer: Messages[number] | undefined) {
  const parts = answer?.parts.map((part) =>
    "toolCallId" in part ? { ...part, state: "output-available", output: "at home" } : part,
  );
  return { ...answer, parts };
}
