import { stringifyTagged } from "@stemma/model";
import { expect, it, vi } from "vitest";
import { ApiKeys, authenticator } from "../../src/index.js";
import { textStream } from "../../src/rest/streams.js";
import { newStore, said, serveRest } from "./rest-helpers.js";

it("waits as long as its text takes, and five minutes for a reader", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    let isOver = false;
    const texts = async function* () {
      try {
        yield "one";
        await new Promise((wake) => setTimeout(wake, 3_600_000));
        yield "two";
        yield "three";
      } finally {
        isOver = true;
      }
    };
    const reader = (await textStream(texts(), "text/plain", 1)).body?.getReader();
    const read = async () => new TextDecoder().decode((await reader?.read())?.value);
    expect(await read()).toBe("one");
    const two = read();
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(await two).toBe("two");
    await vi.advanceTimersByTimeAsync(299_000);
    expect(isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(isOver).toBe(true);
    await expect(read()).rejects.toMatchObject({ code: "CONNECTION_LOST" });
  } finally {
    vi.useRealTimers();
  }
});

const LINES = { headers: { accept: "application/x-ndjson" } };
const stream = { n: 0, call: "session.stream", session: "a", values: [{}] };
const body = stringifyTagged({ client: "c", calls: [stream] });

it.each([
  ["GET", "/v1/sessions/a/messages", LINES],
  ["GET", "/v1/sessions/a/tree", LINES],
  ["GET", "/v1/sessions/a/export", {}],
  ["GET", "/v1/sessions/a/export?format=html", {}],
  ["GET", "/studio/api/export?id=a&format=jsonl", {}],
  ["POST", "/v1/rpc", { headers: { "content-type": "application/json" }, body }],
] as const)("breaks off soon after its key was revoked, and asks of none before: %s %s", async (method, path, sent) => {
  const store = await newStore();
  const keys = new ApiKeys(store);
  const letIn = authenticator({ keys });
  let asked = 0;
  const authenticate = (request: Request) => {
    asked += 1;
    return letIn(request);
  };
  const { send, ask } = await serveRest({ authenticate, studio: true }, store);
  const { key, info } = await keys.create({ name: "soon revoked", access: "memory" });
  const messages = Array.from({ length: 1_000 }, (_, n) => said(`${"q".repeat(100)}${n}`));
  await ask("POST", "/v1/sessions/a/messages", { json: { messages } });
  asked = 0;
  const whole = await (await send(method, path, { ...sent, key })).text();
  expect([asked, whole.length > 100_000]).toEqual([1, true]);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance"] });
  try {
    const reader = (await send(method, path, { ...sent, key })).body?.getReader();
    expect((await reader?.read())?.done).toBe(false);
    await vi.advanceTimersByTimeAsync(60_000);
    expect((await reader?.read())?.done).toBe(false);
    await keys.revoke(info.id);
    await vi.advanceTimersByTimeAsync(16_000);
    await expect(reader?.read()).rejects.toMatchObject({ code: "NOT_ALLOWED" });
  } finally {
    vi.useRealTimers();
  }
});
