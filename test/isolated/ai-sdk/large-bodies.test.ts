import { describe, expect, it } from "vitest";
import { chatHandler, lint } from "../../../packages/stemma/src/ai-sdk.js";
import { SessionManager, type Store } from "../../../packages/stemma/src/session.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { scriptedModel } from "../../ai-sdk/scripted-model.js";
import { expectLinear } from "../../helpers/linear.js";
import { openDatabase } from "../../store/databases.js";

const text = { type: "text", text: "hello" };
const call = { type: "tool-x", toolCallId: "c", input: {} };

/** What 8,000 parts of a body may be. */
const PARTS: Readonly<Record<string, unknown>> = {
  "of an unknown type": { type: "bad" },
  "without a type": {},
  "that are no objects": 1,
  "that are nothing": null,
  "of texts": text,
  "of texts without a text": { type: "text" },
  "of texts with wrong metadata": { ...text, providerMetadata: { a: 1 } },
  "of data": { type: "data-x", data: { a: 1 } },
  "of files": { type: "file", mediaType: "image/png", url: "data:image/png;base64,AAAA" },
  "of sources": { type: "source-url", sourceId: "s", url: "u" },
  "of calls": { ...call, state: "output-available", output: 1 },
  "of calls in an unknown state": { ...call, state: "bad" },
};

describe("a large body", () => {
  it.for(Object.entries(PARTS))("of parts %s takes time that grows as it does", async ([, part]) => {
    const { post } = start();
    await expectLinear(2000, (count) => post(user(Array.from({ length: count }, () => part))));
  });

  it.for<[string, (size: number) => object]>([
    ["messages", (size) => ({ messages: [...Array.from({ length: size }, () => user([text])), user([text])] })],
    ["no messages", (size) => ({ messages: [...Array.from({ length: size }, () => ({ id: 1 })), user([text])] })],
    ["answers that nobody gave", (size) => ({ messages: Array.from({ length: size }, () => answer([text])) })],
    ["fields of metadata", (size) => ({ message: { ...user([text]), metadata: named(size) } })],
    ["fields of data", (size) => ({ message: user([text, { type: "data-x", data: named(size) }]) })],
    ["levels of data", (size) => ({ message: user([text, { type: "data-x", data: nested(size / 20) }]) })],
    ["letters of an id", (size) => ({ message: { ...user([text]), id: "i".repeat(size * 10) } })],
    [
      "letters of the type of a file",
      (size) => ({ message: user([text, file(`data:image/${"a/".repeat(size * 5)}`)]) }),
    ],
    ["parameters of a file", (size) => ({ message: user([text, file(`data:${"a;".repeat(size * 5)}`)]) })],
  ])("with %s takes time that grows as it does", async ([, body]) => {
    const { post } = start();
    await expectLinear(2000, (size) => post(body(size)));
  });

  it("is told which message has no part that is known", async () => {
    const { post } = start();
    const response = await post({ message: { ...user([{ type: "bad" }]), id: "m1" } });
    expect(response.status).toBe(400);
    expect((await response.json()).error).toEqual({
      code: "INVALID_MESSAGE",
      message: 'Message "m1" has no part that the AI SDK knows.',
    });
  });
});

describe("a long history", () => {
  it("is linted in time that grows as it does, with calls of one id and messages of one role", async () => {
    const ids = ["c", `${"c".repeat(60)}x`, `${"c".repeat(60)}y`];
    await expectLinear(1000, async (count) => {
      const calls = Array.from({ length: count }, (_, index) => {
        return { ...call, toolCallId: ids[index % 3] as string, state: "output-available", output: 1 };
      });
      const users = Array.from({ length: count }, (_, index) => ({ ...user([text, text]), id: `u${index}` }));
      return lint([...users, answer(calls)], "openai-compatible");
    });
  });

  it("gives each call an id of its own", () => {
    const calls = ["a", "a_2", "a", "a", "a_3"].map((toolCallId) => ({ ...call, toolCallId, state: "output-denied" }));
    const found = lint([user([text]), answer(calls)], "openai-compatible").map(({ message }) => message);
    expect(found.filter((message) => message.includes("was there before"))).toEqual([
      'The id "a" was there before. The later call\'s becomes "a_3".',
      'The id "a" was there before. The later call\'s becomes "a_4".',
      'The id "a_3" was there before. The later call\'s becomes "a_3_2".',
    ]);
  });
});

describe("a page of a chat", () => {
  it("is answered without reading the other versions of its messages", async () => {
    const database = openDatabase();
    const { handler, manager } = start(sqlite(database));
    const session = manager.forUser("anna").getSession("chat");
    await session.appendMessage({ ...user([text]), id: "q" });
    for (const id of ["a1", "a2", "a3"]) await session.appendMessage({ ...answer([text]), id }, "q");
    // Whoever read them would fail.
    database.exec("UPDATE assistant_messages SET content = '{' WHERE id IN ('a1', 'a2')");
    const page = await handler(new Request(`${API}/chat`));
    expect((await page.json()).siblings).toEqual({ a3: ["a1", "a2", "a3"] });
  });
});

const API = "http://chat.example/api/chat";
let count = 0;

function user(parts: readonly unknown[]) {
  count += 1;
  return { id: `m${count}`, role: "user", parts: parts as { type: string }[] };
}

const answer = (parts: readonly unknown[]) => ({ ...user(parts), role: "assistant" });
const file = (url: string) => ({ type: "file", mediaType: "image/png", url });
const named = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`key${index}`, index]));
const nested = (levels: number): object => (levels <= 1 ? {} : { a: nested(levels - 1) });

function start(store: Store = sqlite(":memory:")) {
  const { model } = scriptedModel(() => "Hi.");
  const manager = SessionManager.create(store);
  const handler = chatHandler({ sessions: manager, model, authenticate: () => ({ userId: "anna" }) });
  const post = async (body: object) => {
    const given = "parts" in body ? { message: body } : body;
    const response = await handler(
      new Request(API, { method: "POST", body: JSON.stringify({ id: crypto.randomUUID(), ...given }) }),
    );
    return response.status === 200 ? new Response(await response.text()) : response;
  };
  return { manager, handler, post };
}
