import { authenticator, UserTokens } from "@stemma/server";
import { createWorker, type UserMemory, type UserMemoryContext, userMemory } from "@stemma/server/worker";
import { Session, SessionManager } from "@stemma/session";
import { memory } from "@stemma/store/memory";
import { expect, it, vi } from "vitest";
import { objectContext } from "../../../../test/documents/host.js";
import { type RemoteOptions, remote } from "../../src/remote/remote.js";
import { all, type Fetch, HOST, said, served } from "./helpers.js";

/** A server, and a remote store on it that notes the calls of each request. */
async function remoteOf(
  options: RemoteOptions = {},
  store = memory(),
  network: (serve: Fetch) => Fetch = (each) => each,
) {
  const { server, apiKey, tokens, keys } = await served(store);
  const requests: string[][] = [];
  const fetch = network(async (request) => {
    const { calls } = (await request.clone().json()) as { calls: { call: string }[] };
    requests.push(calls.map(({ call }) => call));
    return server(request);
  });
  return {
    inner: store,
    requests,
    apiKey,
    tokens,
    keys,
    server,
    store: remote({ baseUrl: HOST, apiKey, fetch, ...options }),
  };
}

/** Answers of which the first ones do not arrive. */
const losing = (count: number) => (serve: Fetch) => {
  let left = count;
  return async (request: Request) => {
    const response = await serve(request);
    if (left-- > 0) throw new TypeError("terminated");
    return response;
  };
};

it("is a store: a session on it, its memory, its search and its manager", async () => {
  const { store, inner } = await remoteOf();
  const session = Session.create(store).forSession("trip").withContext("notes", { maxTokens: 100 });
  await session.appendMessage(said("q1", "When does the ferry go?"));
  await session.replaceContextBlock("notes", "Likes the sea.");
  expect((await session.getHistory()).map(({ id }) => id)).toEqual(["q1"]);
  expect((await session.search("ferry")).map(({ id }) => id)).toEqual(["q1"]);
  expect(await inner.session("trip").length()).toBe(1);
  const manager = SessionManager.create(store);
  await manager.create("Plans", { id: "plans" });
  expect((await manager.list()).map(({ id }) => id)).toEqual(["plans", "trip"]);
  await expect(store.session("trip").append([said("q2")], "nowhere")).rejects.toMatchObject({
    code: "PARENT_NOT_FOUND",
  });
});

it("sends calls that are made together together, and none that reads before one that writes", async () => {
  const { store, requests } = await remoteOf();
  const trip = store.session("trip");
  await Promise.all(Array.from({ length: 256 }, (_, index) => trip.append([said(`m${index}`)])));
  expect(requests.map(({ length }) => length)).toEqual([100, 100, 56]);
  expect((await trip.path()).messages.map(({ id }) => id)).toEqual(
    Array.from({ length: 256 }, (_, index) => `m${index}`),
  );
  requests.length = 0;
  const [, before, , after, other] = await Promise.all([
    trip.append([said("x")]),
    trip.length(),
    trip.append([said("y")]),
    trip.length(),
    store.session("other").length(),
  ]);
  expect([before, after, other]).toEqual([257, 258, 0]);
  expect(requests).toEqual([
    ["session.append", "session.length", "session.length"],
    ["session.append", "session.length"],
  ]);
});

it("writes once, however often the answer is lost", async () => {
  const { store, requests } = await remoteOf({}, memory(), losing(3));
  await Promise.all([
    store.sessions.addUsage("trip", 1, 2, 3).catch(() => {}),
    store.blocks.append({ sessionId: "trip", kind: "block", label: "notes" }, "Sea.", { maxTokens: 1000 }),
    store.session("trip").append([said("a")]),
  ]);
  expect(requests.length).toBe(4);
  expect((await store.blocks.get({ sessionId: "trip", kind: "block", label: "notes" }))?.content).toBe("Sea.");
});

it("names a request's calls by the first of them, also where some come again", async () => {
  const sent: { n: number[]; batch: number }[] = [];
  // Of the first answer, one line of three arrives.
  const network = (serve: Fetch): Fetch => {
    return async (request) => {
      const { batch, calls } = (await request.clone().json()) as { batch: number; calls: { n: number }[] };
      sent.push({ batch, n: calls.map(({ n }) => n) });
      const response = await serve(request);
      if (sent.length > 1) return response;
      const [line] = (await response.text()).split("\n");
      return new Response(`${line}\n`, response);
    };
  };
  const { store, inner } = await remoteOf({}, memory(), network);
  const trip = store.session("trip");
  await Promise.all(["a", "b", "c"].map((id) => trip.append([said(id)])));
  await trip.append([said("d")]);
  const [first = 0] = sent[0]?.n ?? [];
  expect(sent).toEqual([
    { batch: first, n: [first, first + 1, first + 2] },
    { batch: first, n: [first + 1, first + 2] },
    { batch: first + 3, n: [first + 3] },
  ]);
  expect((await inner.session("trip").path()).messages.map(({ id }) => id)).toEqual(["a", "b", "c", "d"]);
});

it("takes a failure of the store for no answer to a write that is asked for again", async () => {
  let requests = 0;
  const failing = (serve: Fetch) => async (request: Request) => {
    requests += 1;
    if (requests === 2) {
      const failed = { n: 0, error: { code: "STORE_FAILED", message: "The disk is away.", details: {} } };
      const headers = { "content-type": "application/x-ndjson" };
      return new Response(`${JSON.stringify(failed)}\n`, { headers });
    }
    const response = await serve(request);
    if (requests === 1) throw new TypeError("terminated");
    return response;
  };
  const { store, inner } = await remoteOf({}, memory(), failing);
  await inner
    .forUser("anon")
    .session("trip")
    .append([said("a")]);
  expect(await store.sessions.claim("anon", "ada")).toBe(1);
  expect(requests).toBe(3);
  expect((await inner.sessions.get("trip"))?.user_id).toBe("ada");
});

it("answers for a store that rewrites no files as a session manager on it does", async () => {
  const { scrub: _, ...plain } = memory();
  const { store } = await remoteOf({}, plain);
  expect(await SessionManager.create(plain).scrub()).toBe("unknown");
  expect(await SessionManager.create(store).scrub()).toBe("unknown");
});

it("tells a write that may be stored from a store that cannot know it", async () => {
  const store = memory();
  const { once: _, ...plain } = store;
  const { store: far } = await remoteOf({ capabilities: { transactions: false } }, plain, losing(1));
  expect(far.once).toBeUndefined();
  await expect(far.session("trip").append([said("a")])).rejects.toMatchObject({ code: "CONNECTION_LOST" });
  expect(await far.session("trip").length()).toBe(1);
});

it("makes the calls of an operation that is asked again once", async () => {
  const { store } = await remoteOf();
  const key = { sessionId: "", kind: "block", label: "log", scope: { key: "team" } } as const;
  for (let time = 0; time < 2; time += 1) {
    const once = store.once?.({ id: "job 7" });
    await once?.blocks.append(key, "One.", { maxTokens: 1000 });
    await once?.blocks.append(key, "Two.", { maxTokens: 1000 });
  }
  expect((await store.blocks.get(key))?.content).toBe("One.\nTwo.");
  await expect(store.once?.({ id: "job 7" }).blocks.append(key, "Three.", { maxTokens: 1000 })).rejects.toMatchObject({
    code: "OPERATION_CONFLICT",
  });
});

it("reads a stream as it was when it was made, and goes on where it broke off", async () => {
  let cuts = 2;
  const cutting = (serve: Fetch) => async (request: Request) => {
    const response = await serve(request);
    const text = await response.text();
    const lines = text.split("\n");
    if (lines.length < 20 || cuts-- <= 0) return new Response(text, response);
    return new Response(`${lines.slice(0, 12).join("\n")}\n{"val`, response);
  };
  const { store } = await remoteOf({}, memory(), cutting);
  const trip = store.session("trip");
  const ids = Array.from({ length: 60 }, (_, index) => `m${index}`);
  await trip.append(ids.map((id) => said(id)));
  const stream = trip.stream();
  await trip.append([said("later")]);
  expect((await all(stream)).map(({ id }) => id)).toEqual(ids);
  expect((await all(trip.messages())).map(({ message }) => message.id)).toEqual([...ids, "later"]);
  for await (const { id } of trip.stream({ newestFirst: true })) {
    expect(id).toBe("later");
    break;
  }
  await expect(all(trip.stream({ after: "nowhere" }))).rejects.toMatchObject({ code: "MESSAGE_NOT_FOUND" });
});

it("lets go of streams that nobody reads, and goes on where one is read again", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const { store } = await remoteOf({ maxRetries: 0 });
    const ids = Array.from({ length: 100 }, (_, index) => `m${index}`);
    const trip = store.session("trip");
    await trip.append(ids.map((id) => said(id, "A long way. ".repeat(300))));
    const found: string[] = [];
    const left = trip.stream()[Symbol.asyncIterator]();
    found.push((await left.next()).value.id);
    for (let open = 1; open < 64; open += 1) await trip.stream()[Symbol.asyncIterator]().next();
    await expect(all(trip.stream())).rejects.toMatchObject({ code: "RATE_LIMITED" });
    await vi.advanceTimersByTimeAsync(300_000);
    expect(await all(trip.stream())).toHaveLength(100);
    for (let next = await left.next(); !next.done; next = await left.next()) found.push(next.value.id);
    expect(found).toEqual(ids);
  } finally {
    vi.useRealTimers();
  }
});

it("consolidates, and confines itself to a user", async () => {
  const { store } = await remoteOf();
  const ada = store.forUser("ada");
  expect(ada.whole).toBe(store);
  expect(ada.forUser("ada").userId).toBe("ada");
  expect(() => ada.forUser("bob")).toThrow("confined");
  for (const user of ["", "x".repeat(600), 7]) expect(() => store.forUser(user as string)).toThrow();
  expect(() => store.session(7 as never)).toThrow("must be a text");
  const facts = { sessionId: "", label: "facts", scope: "user" } as const;
  await ada.entries.set(facts, { key: "a", content: "Drinks tea." });
  await ada.entries.set(facts, { key: "b", content: "Drinks tea." });
  expect((await ada.consolidate({ scope: "user", label: "facts" } as never)).merges).toHaveLength(1);
  await expect(ada.consolidate({ extract: () => [] } as never)).rejects.toMatchObject({ code: "STORE_UNSUPPORTED" });
  await ada.session("hers").append([said("a")]);
  await expect(store.forUser("bob").session("hers").length()).rejects.toMatchObject({ code: "SESSION_OWNED" });
});

it("ends for its program alone, once its calls are over", async () => {
  const { store, inner } = await remoteOf();
  const written = store.session("trip").append([said("a")]);
  await store.close();
  expect((await written).insertedIds).toEqual(["a"]);
  await expect(store.session("trip").length()).rejects.toMatchObject({ code: "STORE_CLOSED" });
  expect(await inner.session("trip").length()).toBe(1);
});

it("reaches what its key reaches", async () => {
  const { server, tokens, inner } = await remoteOf();
  await inner.session("secret").append([said("s")]);
  const { token } = await tokens.create({ userId: "ada" });
  let asked = 0;
  const ada = remote({
    baseUrl: HOST,
    fetch: server,
    token: async () => {
      asked += 1;
      return asked === 1 ? "stale" : token;
    },
  });
  await ada.session("hers").append([said("a")]);
  expect(asked).toBe(2);
  await expect(ada.session("secret").length()).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
  await expect(ada.forUser("bob").session("secret").length()).rejects.toMatchObject({ code: "SESSION_OWNED" });
  await expect(ada.sessions.claim("bob", "ada")).rejects.toMatchObject({ code: "FORBIDDEN" });
  await expect(ada.check?.()).rejects.toMatchObject({ code: "STORE_UNSUPPORTED" });
  await expect(ada.backup("/tmp/x.db")).rejects.toMatchObject({ code: "STORE_UNSUPPORTED" });
  await expect(ada.records.list({ sessionId: "", label: "stemma:keys" })).rejects.toMatchObject({ code: "FORBIDDEN" });
  const stranger = remote({ baseUrl: HOST, apiKey: "stm_none", fetch: server });
  await expect(stranger.session("x").length()).rejects.toMatchObject({ code: "NOT_ALLOWED" });
});

it("gives up after its retries, and a search whose signal is aborted at once", async () => {
  const dead = async () => {
    throw new TypeError("no network");
  };
  const store = remote({ baseUrl: HOST, apiKey: "k", fetch: dead, maxRetries: 1 });
  await expect(store.session("x").append([said("a")])).rejects.toMatchObject({ code: "CONNECTION_LOST" });
  await expect(all(store.session("x").stream())).rejects.toMatchObject({ code: "CONNECTION_LOST" });
  const { store: near } = await remoteOf();
  const signal = AbortSignal.abort(new Error("no longer wanted"));
  await expect(near.search("ferry", { limit: 3, signal })).rejects.toThrow("no longer wanted");
  expect(() => remote({ baseUrl: "nowhere" })).toThrow("remote()");
});

it("lets many searches wait for one signal without a warning", async () => {
  const { store } = await remoteOf();
  const warned = vi.fn();
  process.on("warning", warned);
  const { signal } = new AbortController();
  await Promise.all(Array.from({ length: 20 }, () => store.search("ferry", { limit: 3, signal })));
  await new Promise((resolve) => setTimeout(resolve, 10));
  process.off("warning", warned);
  expect(warned).not.toHaveBeenCalled();
});

it("brings values that JSON has no word for, and leaves what is no data to the server", async () => {
  const { store } = await remoteOf();
  const scope = { sessionId: "trip", label: "bytes" };
  await store.records.set(scope, "k", new Uint8Array([0, 255]));
  expect((await store.records.get(scope, "k"))?.value).toEqual(new Uint8Array([0, 255]));
  const circle: Record<string, unknown> = { ...said("c") };
  circle.self = circle;
  for (const value of [circle, { ...said("d"), big: 1n }, { ...said("e"), parts: 0n }]) {
    await expect(store.session("trip").append([value as never])).rejects.toMatchObject({ code: "INVALID_MESSAGE" });
  }
});

it("is refused by name what is no option of it, and what is no answer of Stemma", async () => {
  expect(() => remote({ baseUrl: HOST, capabilities: { transacions: false } as never })).toThrow("transacions");
  const { store } = await remoteOf();
  expect(() => store.once?.({} as never)).toThrow("The id of an operation");
  await expect(
    store.once?.({ id: "x", fingerprnt: "y" } as never).sessions.addUsage("trip", 1, 1, 1),
  ).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  const page = async () => new Response("<html>Sign in</html>", { headers: { "content-type": "text/html" } });
  const behind = remote({ baseUrl: HOST, fetch: page });
  await expect(behind.session("trip").length()).rejects.toMatchObject({ code: "REQUEST_REFUSED" });
});

it("opens a stream again as long as it gives something, and sends it as it was when it was made", async () => {
  let opened = 0;
  const cutting = (serve: Fetch) => async (request: Request) => {
    const response = await serve(request);
    const [open = "", ...rest] = (await response.text()).split("\n");
    if (open !== '{"open":true,"leafId":"m9"}') return new Response([open, ...rest].join("\n"), response);
    opened += 1;
    // One message of each answer arrives, and then nothing more.
    return new Response(`${[open, ...(opened > 5 ? [] : rest.slice(0, 1))].join("\n")}\n`, response);
  };
  const { store } = await remoteOf({}, memory(), cutting);
  const trip = store.session("trip");
  const written = trip.append(Array.from({ length: 10 }, (_, index) => said(`m${index}`)));
  const options = { newestFirst: true };
  const stream = trip.stream(options);
  options.newestFirst = false;
  await written;
  const found: string[] = [];
  const reading = (async () => {
    for await (const { id } of stream) found.push(id);
  })();
  await expect(reading).rejects.toMatchObject({ code: "CONNECTION_LOST" });
  expect([found, opened]).toEqual([["m9", "m8", "m7", "m6", "m5"], 8]);
});

it("reaches a user's Durable Object through a Worker", async () => {
  const tokens = new UserTokens("a secret of the test, and of nothing else", { audience: HOST });
  const objects = new Map<unknown, UserMemory>();
  const namespace = {
    idFromName: (name: string) => name,
    get: (id: unknown) => {
      const found = objects.get(id) ?? userMemory(objectContext() as UserMemoryContext);
      objects.set(id, found);
      return found;
    },
  };
  const worker = createWorker(() => ({ namespace, authenticate: authenticator({ tokens }) }));
  const env = {};
  const storeOf = async (userId: string) => {
    const { token } = await tokens.create({ userId });
    return remote({
      baseUrl: HOST,
      fetch: losing(1)((request) => worker.fetch(request, env)),
      token: async () => token,
    });
  };
  const [ada, bob] = [await storeOf("ada"), await storeOf("bob")];
  await ada.session("trip").append([said("a"), said("b")]);
  await ada.sessions.addUsage("trip", 1, 1, 1);
  expect((await all(ada.session("trip").stream())).map(({ id }) => id)).toEqual(["a", "b"]);
  expect((await ada.sessions.list({ limit: 10 })).sessions.map(({ user_id }) => user_id)).toEqual(["ada"]);
  expect(await bob.session("trip").length()).toBe(0);
});
