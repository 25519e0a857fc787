import type { Client } from "@modelcontextprotocol/client";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { StemmaError } from "../../../packages/model/src/errors.js";
import { estimateStringTokens } from "../../../packages/model/src/messages/tokens.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { memory } from "../../../packages/store/src/memory.js";
import { allResults, call, connect, failureOf, type Results } from "../../mcp/connect.js";
import { fillStore, say } from "../../mcp/sample.js";

let store: Store;
let client: Client;

beforeEach(async () => {
  store = memory();
  await fillStore(store);
  client = await connect(store);
});
afterEach(async () => {
  await client.close();
  await store.close();
});

describe("the tools of the MCP server", () => {
  it("say what they take, what they give, and whether they write", async () => {
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      "search",
      "recall",
      "fetch",
      "recent",
      "list_sessions",
      "remember",
      "forget",
    ]);
    for (const { title, description, annotations, inputSchema, outputSchema } of tools) {
      expect([title, description, inputSchema, outputSchema]).not.toContain(undefined);
      expect(annotations?.openWorldHint).toBe(false);
    }
    expect(tools.filter(({ annotations }) => annotations?.readOnlyHint).length).toBe(5);
    expect(tools.find(({ name }) => name === "forget")?.annotations?.destructiveHint).toBe(true);
    expect(estimateStringTokens(JSON.stringify(tools))).toBeLessThan(3_500);
    const reader = await connect(store, { readOnly: true });
    expect((await reader.listTools()).tools.map(({ name }) => name)).toEqual([
      "search",
      "recall",
      "fetch",
      "recent",
      "list_sessions",
    ]);
    await reader.close();
  });

  it("read null and an empty text as absence and numbers in texts as numbers, and take nothing that they do not know", async () => {
    const { tools } = await client.listTools();
    const samples: Record<string, string> = { query: "tea", id: "session/a1/message/m1", text: "Ada likes tea." };
    for (const { name, inputSchema } of tools.filter((tool) => tool.name !== "forget")) {
      const { properties = {}, required = [] } = inputSchema;
      const needed = Object.fromEntries(required.map((property) => [property, samples[property]]));
      const known = Object.keys(properties).join(", ");
      const failure = await failureOf(client, name, { ...needed, valid_from: "2026-01-01" });
      expect(failure).toBe(`Error: the input takes no valid_from: its fields are ${known}.`);
      const rest = Object.keys(properties).filter((property) => !required.includes(property));
      // What is remembered twice is told apart.
      await call(client, name, { ...needed, valid_from: null });
      for (const absent of [null, "", "null"]) {
        const args = { ...needed, ...Object.fromEntries(rest.map((property) => [property, absent])) };
        expect(await call(client, name, args), name).toEqual(await call(client, name, needed));
      }
      const numbers = rest.filter((property) => (properties[property] as { type: string }).type === "integer");
      for (const property of numbers) {
        const answer = await call(client, name, { ...needed, [property]: "1" });
        expect(answer, `${name}.${property}`).toEqual(await call(client, name, { ...needed, [property]: 1 }));
      }
      for (const property of required) {
        const failure = await failureOf(client, name, { ...needed, [property]: null });
        expect(failure).toMatch(`Error: ${property} is missing: send a text`);
      }
    }
    await expect(client.callTool({ name: "recent" })).resolves.toMatchObject({
      structuredContent: { nextCursor: null },
    });
  });

  it("search finds messages with where they stand and who wrote them", async () => {
    const { results } = await call<Results>(client, "search", { query: "green", session: "session/a1" });
    expect(results).toEqual([
      {
        id: "session/a1/message/m2",
        url: "stemma://session/a1/message/m2",
        title: "Tea of Ada · assistant",
        text: "«Green» tea, says a1.",
        metadata: { kind: "message", session: "session/a1", writtenBy: "assistant", time: "2026-11-20T10:00:00.000Z" },
      },
    ]);
  });

  it("search gives every result once over its pages, and no page of another question", async () => {
    const all = await call<Results>(client, "search", { query: "tea", limit: 50 });
    const paged = await allResults(client, { query: "tea", limit: 3 });
    expect(paged).toEqual(all.results);
    expect(new Set(paged.map(({ id }) => id)).size).toBe(8);
    const { nextCursor } = await call<Results>(client, "search", { query: "tea", limit: 3 });
    expect(await failureOf(client, "search", { query: "buy", cursor: nextCursor })).toContain(
      "belongs to another call",
    );
  });

  it("search narrows by role and time", async () => {
    await store.session("a1").append([say("late", "user", "More tea, please.", "2026-11-22T10:00:00.000Z")]);
    const late = await allResults(client, { query: "tea", after: "2026-11-21T00:00:00Z" });
    expect(late.map(({ id }) => id)).toEqual(["session/a1/message/late"]);
    expect((await allResults(client, { query: "tea", role: "assistant" })).length).toBe(4);
    expect(await failureOf(client, "search", { query: "tea", after: "soon" })).toContain(
      "a date or a time in ISO form",
    );
  });

  it("fetch reads a message with its neighbours, whatever its tools gave", async () => {
    await store.session("a1").append([
      {
        id: "m4",
        role: "assistant",
        parts: [
          { type: "text", text: "Done." },
          { type: "tool-buy", toolCallId: "c", state: "output-available", input: { what: "tea" }, output: "12 bags" },
        ],
      },
    ]);
    const read = await call(client, "fetch", { id: "session/a1/message/m4", context: 1 });
    expect(read).toMatchObject({
      id: "session/a1/message/m4",
      title: "Tea of Ada · assistant",
      text: 'Done.\n<<< tool call: buy >>>\n{"what":"tea"}\n<<< tool result: buy >>>\n12 bags',
      context: { before: [{ id: "session/a1/message/m3", role: "user", text: "Then buy some for a1." }], after: [] },
      nextCursor: null,
    });
    expect(await call(client, "fetch", { id: "message/a1/m4", context: 1 })).toEqual(read);
  });

  it("fetch reads a conversation to its end, page by page", async () => {
    const long = Array.from({ length: 60 }, (_, index) => say(`l${index}`, "user", `${index} ${"word ".repeat(200)}`));
    await store.session("long").append(long);
    let text = "";
    let pages = 0;
    let cursor: string | undefined;
    do {
      const page = await call<{ text: string; nextCursor: string | null }>(client, "fetch", {
        id: "session/long",
        cursor,
      });
      expect(estimateStringTokens(JSON.stringify(page))).toBeLessThan(4_000);
      text += `${page.text}\n\n`;
      cursor = page.nextCursor ?? undefined;
      pages += 1;
    } while (cursor !== undefined);
    expect(pages).toBeGreaterThan(3);
    expect([...text.matchAll(/<<< l(\d+) from user/g)].map(([, number]) => Number(number))).toEqual(
      long.map((_, i) => i),
    );
  });

  it.each([
    ["words", "word ".repeat(50_000)],
    ["one word", "x".repeat(200_000)],
    ["control characters", "\u0001".repeat(50_000)],
    ["emoji", "🙂".repeat(30_000)],
    ["Japanese", "日本語".repeat(10_000)],
    ["quotation marks", '"\\\n'.repeat(20_000)],
  ])("fetch gives a long text of %s whole, in pages within the budget", async (_, text) => {
    await store.session("long").append([say("m", "user", text)]);
    const small = await connect(store, { maxTokens: 10_000 });
    let read = "";
    let cursor: string | undefined;
    do {
      const args = { id: "session/long/message/m", cursor };
      const page = await call<{ text: string; nextCursor: string | null }>(small, "fetch", args);
      expect(estimateStringTokens(JSON.stringify(page))).toBeLessThan(10_000);
      read += page.text;
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
    expect(read === text).toBe(true);
    await small.close();
  });

  it("keeps every answer within the budget", async () => {
    for (let index = 0; index < 40; index += 1) {
      const id = `${index}-${"ü".repeat(100)}`;
      await store.sessions.create({ id, name: `${"long name ".repeat(50)}${index}` });
      await store.session(id).append([say(`${"m".repeat(200)}${index}`, "user", `budget ${"text ".repeat(500)}`)]);
    }
    const small = await connect(store, { maxTokens: 1_000 });
    for (const [name, args] of [
      ["search", { query: "budget", limit: 50 }],
      ["recent", { limit: 50 }],
      ["list_sessions", { limit: 50 }],
    ] as const) {
      const answer = await call<{ nextCursor: string | null }>(small, name, args);
      expect(estimateStringTokens(JSON.stringify(answer))).toBeLessThan(1_000);
      expect(answer.nextCursor).not.toBe(null);
    }
    const ids = new Set((await allResults(small, { query: "budget", limit: 50 })).map(({ id }) => id));
    expect(ids.size).toBe(40);
    let listed = 0;
    let cursor: string | undefined;
    do {
      const page = await call<{ sessions: unknown[]; nextCursor: string | null }>(small, "list_sessions", {
        limit: 50,
        cursor,
      });
      listed += page.sessions.length;
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
    expect(listed).toBe(44);
    await small.close();
  });

  it("tell when a message was stored that has no time of its own", async () => {
    await store.session("a1").append([{ id: "undated", role: "user", parts: [{ type: "text", text: "More tea." }] }]);
    const time = (await store.session("a1").tree()).at(-1)?.createdAt;
    const document = await call<{ metadata: object }>(client, "fetch", { id: "session/a1/message/undated" });
    expect(document.metadata).toMatchObject({ time });
    const { sessions } = await call<{ sessions: { messages: { time: string | null }[] }[] }>(client, "recent", {});
    expect(sessions[0]?.messages.at(-1)?.time).toBe(time);
  });

  it("recent shows the latest conversations with their newest messages", async () => {
    await store.session("b1").append([say("new", "user", "One more thing.")]);
    const { sessions } = await call<{ sessions: { id: string; messages: { id: string; text: string }[] }[] }>(
      client,
      "recent",
      {
        messages: 2,
      },
    );
    expect(sessions[0]).toMatchObject({
      id: "session/b1",
      title: "Tea of Ben",
      messages: [
        { id: "session/b1/message/m3", text: "Then buy some for b1." },
        { id: "session/b1/message/new", text: "One more thing." },
      ],
    });
  });

  it("list_sessions lists by name", async () => {
    const { sessions } = await call<{ sessions: object[] }>(client, "list_sessions", { name: "of ada" });
    expect(sessions.length).toBe(2);
    expect(sessions).toContainEqual(expect.objectContaining({ id: "session/a1", title: "Tea of Ada", messages: 3 }));
  });
});

describe("what an MCP server remembers", () => {
  it("is found, replaced by its title, and forgotten, with every version kept", async () => {
    const first = await call(client, "remember", { title: "Deploy checklist", text: "Tag, then push." });
    expect(first).toEqual({
      id: "entry/memory/deploy-checklist",
      url: "stemma://entry/memory/deploy-checklist",
      title: "deploy-checklist",
      replaced: false,
    });
    const again = { title: "Deploy checklist", text: "Test, tag, then push." };
    expect(await call(client, "remember", again)).toMatchObject({ replaced: true });
    const [found] = (await call<Results>(client, "search", { query: "checklist push" })).results;
    expect(found).toMatchObject({
      id: first.id,
      text: "Test, tag, then «push».",
      metadata: { kind: "entry", writtenBy: "model" },
    });
    expect(await call(client, "fetch", { id: first.url })).toMatchObject({ text: "Test, tag, then push." });
    const place = { sessionId: "", label: "memory", scope: { key: "memory" } };
    const next = { key: "deploy-2", content: "Just push.", validFrom: "2025-06-01", supersedes: ["deploy-checklist"] };
    await store.entries.set(place, next);
    expect(await call(client, "fetch", { id: first.id })).toMatchObject({
      text: "[No longer true: it held until 2025-06-01T00:00:00.000Z, superseded by entry/memory/deploy-2.]\n\nTest, tag, then push.",
      metadata: { validTo: "2025-06-01T00:00:00.000Z", supersededBy: ["entry/memory/deploy-2"] },
    });
    await store.entries.set(place, { ...next, expiresAt: "2025-07-01" });
    expect(await call(client, "fetch", { id: "entry/memory/deploy-2" })).toMatchObject({
      text: "[Expired at 2025-07-01T00:00:00.000Z.]\n\nJust push.",
      metadata: { validFrom: "2025-06-01T00:00:00.000Z", expiresAt: "2025-07-01T00:00:00.000Z" },
    });
    await store.entries.delete(place, "deploy-2");
    await call(client, "forget", { id: first.id });
    expect(await failureOf(client, "fetch", { id: first.id })).toContain("There is no entry");
    expect(await failureOf(client, "forget", { id: first.id })).toContain("There is no entry");
    const scope = { sessionId: "", label: "memory", scope: { key: "memory" } };
    const versions = await store.entries.versions(scope, "deploy-checklist");
    expect(versions.map(({ content, author }) => [content, author])).toEqual([
      [null, "model"],
      ["Test, tag, then push.", "model"],
      ["Tag, then push.", "model"],
    ]);
  });

  it("is found whatever was there before, under the key that a program chose", async () => {
    const scope = { sessionId: "", label: "memory", scope: { key: "memory" } } as const;
    await store.entries.set(scope, { key: "Drink", content: "Likes tea.", validTo: "2020-01-01" });
    expect(await call(client, "remember", { title: "Drink", text: "Likes milk." })).toMatchObject({ title: "Drink" });
    expect((await store.entries.list(scope)).map(({ key, content }) => [key, content])).toEqual([
      ["Drink", "Likes milk."],
    ]);
    await store.entries.set(scope, { key: "drinks", content: "Likes juice.", supersedes: ["Drink"] });
    expect(await failureOf(client, "remember", { title: "Drink", text: "Likes tea." })).toContain("superseded by");
    for (const text of ["", " \n"])
      expect(await failureOf(client, "remember", { text })).toMatch(/^Error: text must be a text of 1 to /);
  });

  it("stands beside values of other programs, one of which may be broken", async () => {
    const scope = (label: string) => ({ sessionId: "", label, scope: { key: "memory" } }) as const;
    await store.entries.set(scope("facts"), { key: "k", content: "", value: { tree: "quince" } });
    expect(await call(client, "fetch", { id: "entry/facts/k" })).toMatchObject({ text: '{"tree":"quince"}' });
    await call(client, "remember", { text: "The quince is yellow." });
    const broken = new StemmaError("CORRUPT_ENTRY", {}, "It cannot be read.");
    const search: Store["entries"]["search"] = (place, ...rest) =>
      place.label === "facts" ? Promise.reject(broken) : store.entries.search(place, ...rest);
    const errors: unknown[] = [];
    const other = await connect(
      { ...store, entries: { ...store.entries, search } },
      { onError: (error) => errors.push(error) },
    );
    expect((await call<Results>(other, "search", { query: "quince" })).results).toHaveLength(1);
    expect(errors).toEqual([broken]);
    await other.close();
  });

  it("stands beside blocks, which can be read and not forgotten", async () => {
    const key = { sessionId: "", kind: "block", label: "profile", scope: { key: "memory" } } as const;
    await store.blocks.set(key, "Prefers zebras.", { origin: { author: "learning" } });
    const [found] = (await call<Results>(client, "search", { query: "zebra" })).results;
    expect(found).toMatchObject({
      id: "block/profile",
      text: "Prefers «zebras».",
      metadata: { kind: "block", writtenBy: "learning" },
    });
    expect(await call(client, "fetch", { id: "block/profile" })).toMatchObject({ text: "Prefers zebras." });
    expect(await failureOf(client, "forget", { id: "block/profile" })).toContain("begins with entry/");
  });
});
