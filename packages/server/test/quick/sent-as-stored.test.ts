// Histories that are sent as their rows have them: each line says what the message says, whatever it holds.
import { parseTagged, type SessionMessage, stringifyTagged } from "@stemma/model";
import type { SessionStore } from "@stemma/store";
import { expect, it } from "vitest";
import { serveRest } from "./rest-helpers.js";

const part = (text: string) => ({ type: "text", text });
const MESSAGES = [
  ...Array.from({ length: 150 }, (_, at) => ({ id: `m${at}`, role: "user", parts: [part(`Zeile\n\u2028 ${at}`)] })),
  { id: "own", role: "user", parts: [part('"$":')], metadata: { $: { v: 1 }, deep: [{ a: 1, $: "date" }] } },
  { id: "dated", role: "user", parts: [part("x")], createdAt: new Date(0) },
  { id: "marked", role: "user", parts: [], $stemma: { own: 1 }, ["__proto__"]: { x: 1 } },
] as SessionMessage[];

async function all<T>(values: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const value of values) found.push(value);
  return found;
}

it("sends a history as lines of what its messages are", async () => {
  const { send, store } = await serveRest();
  const session = store.session("a");
  await store.sessions.create({ id: "a", name: "a" });
  await session.append(MESSAGES);
  const headers = { accept: "application/x-ndjson" };
  const answer = await send("GET", "/v1/sessions/a/messages?createdAt=true", { headers });
  const messages = await all(session.stream({ createdAt: true }));
  expect(await answer.text()).toBe(messages.map((message) => `${JSON.stringify(message)}\n`).join(""));
});

it("gives a remote store the values of a stream as they are, dates too, from any of them on", async () => {
  const { send, store } = await serveRest();
  await store.session("a").append(MESSAGES);
  for (const skip of [0, 1, 40, 152, 153, 999]) {
    const stream = { n: 1, call: "session.stream", session: "a", values: [{}], skip };
    const response = await send("POST", "/v1/rpc", {
      body: stringifyTagged({ client: "c", calls: [stream] }),
      headers: { "content-type": "application/json" },
    });
    const lines = (await response.text()).trimEnd().split("\n");
    expect(lines.at(-1)).toBe('{"end":true}');
    const values = lines.slice(1, -1).map((line) => (parseTagged(line) as { value: unknown }).value);
    const messages = await all((store.session("a") as SessionStore).stream());
    expect(values).toEqual(messages.slice(skip));
  }
});
