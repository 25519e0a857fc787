// Every route that writes, asked twice under one key: a route that is added is in it by itself.
import { createCompactFunction } from "@stemma/model";
import { describe, expect, it } from "vitest";
import document from "../../openapi.json" with { type: "json" };
import { newStore, said, serveRest } from "./rest-helpers.js";

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly required: readonly string[];
  readonly type: string | undefined;
}

/** Values of fields that a body must have, by their names. */
const VALUES: Readonly<Record<string, unknown>> = {
  name: "A name",
  messages: [said("m3")],
  message: said("m4"),
  ids: ["m2"],
  messageId: "m1",
  summary: "A summary",
  fromMessageId: "m1",
  toMessageId: "m1",
  inputTokens: 1,
  outputTokens: 1,
  content: "New text",
  append: "More text",
  maxTokens: 100,
  version: 1,
  query: "words",
  operations: [
    { op: "appendMessages", session: "chat", messages: [said("m5")] },
    { op: "setRecord", session: "chat", label: "facts", key: "k2", value: 2 },
    { op: "addUsage", session: "chat", inputTokens: 1, outputTokens: 1 },
  ],
  input: { label: "memory", content: "Likes tea.", action: "append" },
};

/** What a schema does not ask for, and a route does. */
const BODIES: Readonly<Record<string, object>> = {
  "PATCH /v1/sessions/{session}": { name: "Another name" },
  "PUT /v1/sessions/{session}/messages/{message}": said("m1", "Another text"),
  "PUT /v1/sessions/{session}/records/{label}/{key}": { value: { n: 2 } },
};

/** Their answers tell of the state that they find, too: what is left to erase, whether the prompt was there, what is new. */
const TELLING = ["DELETE /v1/users/{user}", "POST /v1/sessions/{session}/turn", "POST /v1/sessions/{session}/import"];

async function world(compactionPath: string) {
  const server = await serveRest({
    sessions: (sessions) =>
      sessions
        .withContext("memory")
        .withCachedPrompt()
        .onCompaction(createCompactFunction({ summarize: () => "A summary", minTailMessages: 1, protectHead: 0 })),
  });
  const { ask } = server;
  await ask("POST", "/v1/sessions", { json: { id: "chat", name: "Chat", userId: "ada" } });
  await ask("POST", "/v1/sessions/chat/messages", { json: { messages: [said("m1"), said("m2")] } });
  await ask("PUT", "/v1/sessions/chat/records/facts/k", { json: { value: { n: 1 } } });
  await ask("PUT", "/v1/memory/user%3Aada/blocks/notes", { json: { content: "text" } });
  await ask("PUT", "/v1/memory/user%3Aada/entries/facts/k", { json: { content: "Likes figs." } });
  let path = compactionPath;
  if (path.includes("{compaction}")) {
    const json = { summary: "Sum", fromMessageId: "m1", toMessageId: "m1" };
    const { body } = await ask("POST", "/v1/sessions/chat/compactions", { json });
    path = path.replace("{compaction}", body.id);
  }
  const filled = path
    .replace("{session}", "chat")
    .replace("{message}", "m1")
    .replace("{owner}", "user%3Aada")
    .replace("{label}", path.includes("/blocks/") ? "notes" : "facts")
    .replace("{key}", "k")
    .replace("{user}", "ada")
    .replace("{tool}", "set_context");
  /** All that is stored, but for times and what is remembered of requests. */
  const stored = async () => {
    const reads = [
      "/v1/sessions",
      "/v1/sessions/chat/tree",
      "/v1/sessions/chat/messages",
      "/v1/sessions/chat/compactions",
      "/v1/sessions/chat/usage",
      "/v1/sessions/chat/records/facts",
      "/v1/memory/user%3Aada/blocks",
      "/v1/memory/user%3Aada/blocks/notes/versions",
      "/v1/memory/user%3Aada/entries/facts",
      "/v1/memory/user%3Aada/entries/facts/k/versions",
      "/v1/memory/session%3Achat/blocks",
    ];
    const answers = await Promise.all(reads.map(async (each) => (await ask("GET", each)).body));
    return JSON.stringify(answers, (name, value) => (name === "requestId" ? undefined : value));
  };
  return { ...server, filled, stored };
}

const ALL = Object.entries(document.paths).flatMap(([path, methods]) =>
  // biome-ignore lint/suspicious/noExplicitAny: a document.
  Object.entries<any>(methods).flatMap(([method, operation]): Operation[] => {
    // Keys and tokens are shown once: a second one is made for who asks again.
    if (operation["x-access"] !== "write" || /^\/v1\/(keys|tokens)/.test(path)) return [];
    const content = operation.requestBody?.content ?? {};
    const [type] = Object.keys(content);
    return [
      { method: method.toUpperCase(), path, type, required: content["application/json"]?.schema?.required ?? [] },
    ];
  }),
);

describe("a request with an Idempotency-Key", () => {
  it.each(ALL)("is done once: $method $path", async ({ method, path, required, type }) => {
    const { ask, filled, stored } = await world(path);
    const fields = Object.fromEntries(required.map((name) => [name, VALUES[name]]));
    const json = { ...fields, ...BODIES[`${method} ${path}`] };
    const body =
      type === undefined
        ? {}
        : type === "application/json"
          ? { json }
          : { body: `${JSON.stringify(said("m9"))}\n`, headers: { "content-type": type } };
    const send = () => {
      const headers = { ...(body as { headers?: Record<string, string> }).headers, "idempotency-key": "request-1" };
      return ask(method, filled, { ...body, headers });
    };
    const first = await send();
    const after = await stored();
    const second = await send();
    if (first.body?.code === "STORE_UNSUPPORTED") return;
    expect([first.status, first.body?.detail ?? ""]).toEqual([expect.toSatisfy((s: number) => s < 300), ""]);
    expect([second.status < 300, second.body?.detail ?? ""]).toEqual([true, ""]);
    if (!TELLING.includes(`${method} ${path}`)) expect(second.body).toEqual(first.body);
    expect(await stored()).toBe(after);
  });

  const append = (text: string) => ({
    json: { append: text, maxTokens: 100 },
    headers: { "idempotency-key": "request-1" },
  });
  const NOTES = "/v1/memory/user%3Aada/blocks/notes";

  it("is refused where another request had the key, and is a principal's own", async () => {
    const { ask, keyOf } = await serveRest();
    const other = await keyOf();
    expect((await ask("PATCH", NOTES, append("one"))).status).toBe(200);
    expect((await ask("PATCH", NOTES, append("two"))).body).toMatchObject({ code: "OPERATION_CONFLICT", status: 409 });
    expect((await ask("PUT", NOTES, { ...append("one"), json: { content: "x" } })).status).toBe(409);
    expect((await ask("PATCH", NOTES, { ...append("two"), key: other })).status).toBe(200);
    for (const key of ["", "a b", "x".repeat(256)]) {
      const refused = await ask("PATCH", NOTES, { ...append("one"), headers: { "idempotency-key": key } });
      expect([key, refused.status]).toEqual([key, 400]);
    }
  });

  it("has the condition of the first time, also where what it names has changed since", async () => {
    const { ask } = await serveRest();
    const first = await ask("PUT", NOTES, { json: { content: "one" } });
    const headers = { "if-match": first.headers.get("etag") ?? "", "idempotency-key": "request-1" };
    const send = () => ask("PUT", NOTES, { json: { content: "two" }, headers });
    expect((await send()).status).toBe(200);
    expect(await send()).toMatchObject({ status: 200, body: { content: "two" } });
    const stale = { "if-match": headers["if-match"], "idempotency-key": "request-2" };
    for (let times = 0; times < 2; times += 1) {
      expect((await ask("PUT", NOTES, { json: { content: "three" }, headers: stale })).status).toBe(412);
    }
  });

  it("is done once by two servers that are asked at once", async () => {
    const store = await newStore();
    const servers = await Promise.all([serveRest({}, store), serveRest({}, store)]);
    const key = await servers[0].keyOf();
    const asked = Array.from({ length: 10 }, (_, i) => servers[i % 2]?.ask("PATCH", NOTES, { ...append("one"), key }));
    const statuses = (await Promise.all(asked)).map((answer) => answer?.status);
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect((await servers[0].ask("GET", NOTES)).body.content).toBe("one");
  });
});
