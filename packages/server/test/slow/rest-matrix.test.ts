// Every route of the document, as every kind of principal, on what is another's: a route that is added is in it by itself.
import { ERROR_CODES } from "@stemma/model";
import { beforeAll, describe, expect, it } from "vitest";
import { said, segmentOf, serveRest } from "../quick/rest-helpers.js";

const CANARY = "canary-of-bob";
const CODES = new Set<string>([
  ...Object.keys(ERROR_CODES),
  "NOT_FOUND",
  "METHOD_NOT_ALLOWED",
  "UNSUPPORTED_MEDIA_TYPE",
  "INTERNAL",
]);

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly access: "read" | "write";
  readonly body: Record<string, unknown> | undefined;
}

/** Values of required fields, by their names. */
const VALUES: Readonly<Record<string, unknown>> = {
  name: "A name",
  messages: [said("new")],
  message: said("new"),
  ids: ["m1"],
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
  query: "canary",
  input: {},
  operations: [
    { op: "appendMessages", session: "bobs", messages: [said("new")] },
    { op: "setBlock", owner: "session:bobs", label: "notes", content: "x" },
    { op: "setEntry", owner: "user:bob", label: "notes", key: "m1", content: "x" },
    { op: "setRecord", session: "bobs", label: "notes", key: "m1", value: 1 },
    { op: "updateSession", session: "bobs", name: "x" },
  ],
};

/** What a body must have, though no field of it must be there. */
const NEEDED: Readonly<Record<string, object>> = {
  "put /v1/sessions/{session}/records/{label}/{key}": { value: 1 },
};

/** Fields that name what is another's, where a body may have them. */
const FOREIGN: Readonly<Record<string, unknown>> = {
  id: "bobs",
  userId: "bob",
  parentSessionId: "bobs",
  sessionIds: ["bobs"],
  sessionId: "bobs",
  owners: ["user:bob", "key:bobs-team", "session:bobs"],
  keys: ["bobs-team"],
};

const OWNERS = ["user:bob", "session:bobs", "key:bobs-team"];

async function world() {
  const server = await serveRest({
    withAccess: true,
    sessions: (sessions) => sessions.withContext("memory").withCachedPrompt(),
  });
  const { ask: send, keyOf } = server;
  const user = await keyOf({ userId: "bob" });
  const ask = (method: string, path: string, json?: unknown) => send(method, path, { key: user, json });
  await ask("POST", "/v1/sessions", { id: "bobs", name: CANARY, metadata: { project: "p", x: CANARY } });
  await ask("POST", "/v1/sessions/bobs/messages", { messages: [said("m1", CANARY), said("m2", CANARY)] });
  for (const owner of OWNERS) {
    const path = `/v1/memory/${segmentOf(owner)}`;
    // He does not reach the memory of a key, which a backend writes.
    const key = owner.startsWith("key:") ? await keyOf() : user;
    await send("PUT", `${path}/blocks/notes`, { key, json: { content: CANARY } });
    await send("PUT", `${path}/entries/notes/m1`, { key, json: { content: CANARY } });
  }
  await ask("PUT", "/v1/sessions/bobs/records/notes/m1", { value: CANARY });
  const json = { summary: CANARY, fromMessageId: "m1", toMessageId: "m1" };
  const compaction = await ask("POST", "/v1/sessions/bobs/compactions", json);
  /** All that is Bob's. */
  const state = async () => {
    const memory = [...OWNERS.slice(0, 2), "user"].flatMap((owner) =>
      ["blocks", "blocks/notes/versions", "entries", "entries/notes"].map(
        (each) => `memory/${segmentOf(owner)}/${each}`,
      ),
    );
    const reads = [
      "sessions",
      "sessions/bobs",
      "sessions/bobs/tree",
      "usage?by=session",
      "sessions/bobs/records/notes",
      ...memory,
    ];
    const read = async (path: string) => {
      const { status, body, headers } = await ask("GET", `/v1/${path}`);
      return [path, status, body, headers.get("etag")];
    };
    const { store } = server;
    const ofKey = { sessionId: "", scope: { key: "bobs-team" } } as const;
    const shared =
      store === undefined ? [] : [store.blocks.list(ofKey), store.entries.list({ ...ofKey, label: "notes" })];
    return [await Promise.all(reads.map(read)), await Promise.all(shared)];
  };
  const principals = {
    nobody: "",
    unknown: "stm_nonsense",
    mint: await keyOf({ access: "mint" }),
    readOnly: await keyOf({ readOnly: true }),
    otherUser: await keyOf({ userId: "ada" }),
    otherReader: await keyOf({ userId: "ada", readOnly: true }),
    otherProject: await keyOf({ project: "q" }),
    otherKeys: await keyOf({ userId: "ada", keys: ["adas-team"] }),
    user,
    backend: await keyOf(),
    admin: await keyOf({ access: "admin" }),
  };
  const document = (await ask("GET", "/openapi.json")).body;
  /** False where each user has a database, in which the ids of others are free. */
  const isShared = server.store !== undefined;
  return { ...server, state, isShared, principals, document, compaction: compaction.body.id as string };
}

/** The operations of a document, with a body that has what it must have. */
function operationsOf(document: Record<string, never>): Operation[] {
  return Object.entries<object>(document.paths ?? {}).flatMap(([path, methods]) =>
    // biome-ignore lint/suspicious/noExplicitAny: a document.
    Object.entries<any>(methods).map(([method, operation]) => {
      const schema = operation.requestBody?.content?.["application/json"]?.schema;
      const isMessage = schema?.$ref?.endsWith("/Message") === true;
      const required: string[] = schema?.required ?? [];
      const fields = Object.fromEntries(required.map((name) => [name, VALUES[name]]));
      const foreign = Object.entries(FOREIGN).filter(([name]) => schema?.properties?.[name] !== undefined);
      const body =
        schema === undefined
          ? undefined
          : isMessage
            ? said("m1")
            : { ...fields, ...Object.fromEntries(foreign), ...NEEDED[`${method} ${path}`] };
      return { method: method.toUpperCase(), path, access: operation["x-access"], body };
    }),
  );
}

/** The addresses of an operation on what is Bob's. */
function addressesOf({ path }: Operation, compaction: string): string[] {
  const owners = path.includes("{owner}") ? OWNERS : [""];
  return owners.map((owner) => {
    const ids: Record<string, string> = {
      session: "bobs",
      message: "m1",
      owner,
      label: "notes",
      key: "m1",
      user: "bob",
      tool: "set_context",
      compaction,
    };
    const address = path.replace(/\{(\w+)\}/g, (_, name: string) => segmentOf(ids[name] ?? ""));
    if (address === "/v1/usage") return "/v1/usage?by=session";
    return address.endsWith("/changes") ? `${address}?wait=1&after=${new Date().toISOString()}` : address;
  });
}

describe("REST: each route as each principal", () => {
  let first: Awaited<ReturnType<typeof world>>;
  beforeAll(async () => {
    first = await world();
  });

  it("has a test's value for each field that a body must have", () => {
    for (const { path, body } of operationsOf(first.document)) {
      for (const [name, value] of Object.entries(body ?? {}))
        expect([path, name, value]).not.toEqual([path, name, undefined]);
    }
    expect(operationsOf(first.document).length).toBeGreaterThan(50);
  });

  it.each([
    ["nobody", 401],
    ["unknown", 401],
    ["mint", 403],
  ] as const)("refuses %s everywhere", async (name, status) => {
    const { ask, principals, document, compaction } = first;
    // It is all that a key of the access `mint` may do.
    const operations = operationsOf(document).filter(({ path }) => !(name === "mint" && path === "/v1/tokens"));
    for (const operation of operations) {
      for (const address of addressesOf(operation, compaction)) {
        const { body: json, method } = operation;
        const answer = await ask(method, address, { key: principals[name], ...(json === undefined ? {} : { json }) });
        expect([method, address, answer.status]).toEqual([method, address, status]);
      }
    }
  });

  it("lets one who only reads write nowhere", async () => {
    const { ask, principals, document, compaction, state } = first;
    const before = await state();
    for (const operation of operationsOf(document)) {
      for (const address of addressesOf(operation, compaction)) {
        const { body: json, method, access } = operation;
        const sent = json === undefined ? {} : { json };
        const { status, body } = await ask(method, address, { key: principals.readOnly, ...sent });
        if (access === "write")
          expect([method, address, body.code, status]).toEqual([method, address, "FORBIDDEN", 403]);
        else expect([method, address, body, status < 500]).toEqual([method, address, body, true]);
      }
    }
    expect(await state()).toEqual(before);
  });

  it.each(["otherUser", "otherReader", "otherProject", "otherKeys"] as const)(
    "shows %s nothing of Bob's, and changes nothing of it",
    async (name) => {
      const { ask, principals, document, compaction, state, isShared } = first;
      const before = await state();
      for (const operation of operationsOf(document)) {
        for (const address of addressesOf(operation, compaction)) {
          const { body: json, method, path } = operation;
          const sent = json === undefined ? {} : { json };
          const { status, body, headers } = await ask(method, address, { key: principals[name], ...sent });
          const where = `${method} ${address} ${status}`;
          expect([where, JSON.stringify(body).includes(CANARY)]).toEqual([where, false]);
          // A project's key is shown the user's label of its own name alone.
          const isEmpty = name === "otherProject" && status === 200 && body.data?.length === 0;
          if (isShared && path.includes("{"))
            expect([where, isEmpty || (status >= 400 && status < 500)]).toEqual([where, true]);
          if (isShared && path.includes("{session}") && !path.endsWith("/import"))
            expect([where, body.code]).toEqual([where, expect.stringMatching(/SESSION_NOT_FOUND|FORBIDDEN/)]);
          if (status >= 400) {
            expect([where, headers.get("content-type")]).toEqual([where, "application/problem+json; charset=utf-8"]);
            expect([where, CODES.has(body.code)]).toEqual([where, true]);
          }
        }
      }
      expect(await state()).toEqual(before);
    },
  );

  it.each(["user", "backend", "admin"] as const)("does for %s what may be done, and fails nowhere", async (name) => {
    const { send, principals, document, compaction, errors } = await world();
    const done: string[] = [];
    // What erases comes last.
    const operations = operationsOf(document).toSorted((a, b) => rank(a) - rank(b));
    for (const operation of operations) {
      for (const address of addressesOf(operation, compaction)) {
        const { body: json, method } = operation;
        const fields = { ...json };
        if (address.endsWith("/fork")) Object.assign(fields, { id: `fork-of-${name}` });
        const response = await send(method, address, {
          key: principals[name],
          ...(json === undefined ? {} : { json: fields }),
        });
        const where = `${method} ${address} ${response.status}`;
        const text = await response.text();
        if (response.ok) done.push(where);
        else expect([where, text, CODES.has(JSON.parse(text).code)]).toEqual([where, text, true]);
        // Nothing to learn with is the one thing that this server does not offer.
        expect([where, text, response.status < 500 || address.endsWith("/learn")]).toEqual([where, text, true]);
      }
    }
    expect(errors).toEqual([]);
    expect(done.length).toBeGreaterThan(name === "user" ? 45 : 70);
  });
});

const rank = ({ method, path }: Operation) =>
  method === "DELETE"
    ? 100 - path.length
    : path.endsWith("/clear") || path.endsWith("/delete")
      ? 1
      : method === "GET"
        ? -1
        : 0;
