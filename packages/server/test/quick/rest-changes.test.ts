import { describe, expect, it, vi } from "vitest";
import { said, serveRest } from "./rest-helpers.js";

const append = (id: string) => ({ json: { messages: [said(id, "A secret of the chat.")] } });

/** Reads events of a stream until so many came. */
async function eventsOf(response: Response, count: number): Promise<{ id: string; data: Record<string, string> }[]> {
  let text = "";
  const found = () => [...text.matchAll(/^id: (.*)\ndata: (.*)\n\n/gm)];
  const decoder = new TextDecoder();
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  while (found().length < count) {
    const { done, value } = await reader.read();
    if (done) break;
    text += decoder.decode(value, { stream: true });
  }
  await reader.cancel();
  expect(text).not.toContain("secret");
  return found().map(([, id = "", data = ""]) => ({ id, data: JSON.parse(data) }));
}

describe("REST: changes", () => {
  it("tells of a session's changes, from one that was read, and of its end", async () => {
    const { ask, send } = await serveRest();
    await ask("POST", "/v1/sessions/a/messages", append("q1"));
    const stream = await send("GET", "/v1/sessions/a/changes");
    expect(stream.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    await ask("POST", "/v1/sessions/a/messages", append("q2"));
    const [event] = await eventsOf(stream, 1);
    const tag = (await ask("GET", "/v1/sessions/a")).headers.get("etag");
    expect(event?.data).toEqual({ session: "a", kind: "changed", change: JSON.parse(tag ?? "") });
    expect((await ask("GET", `/v1/sessions/a/changes?wait=1&after=${event?.id}`)).body).toEqual({ data: [] });
    const later = send("GET", "/v1/sessions/a/changes", { headers: { "last-event-id": event?.id ?? "" } });
    await ask("DELETE", "/v1/sessions/a");
    expect((await eventsOf(await later.catch(() => new Response()), 1)).map(({ data }) => data.kind)).toEqual([
      "deleted",
    ]);
    expect((await ask("GET", "/v1/sessions/a/changes")).body.code).toBe("SESSION_NOT_FOUND");
  });

  it("tells whoever asks of their own sessions, and goes on behind a change", async () => {
    const { ask, send, keyOf } = await serveRest();
    const [ada, bob] = [await keyOf({ userId: "ada" }), await keyOf({ userId: "bob" })];
    await ask("POST", "/v1/sessions/old/messages", { key: ada, ...append("q1") });
    const stream = await send("GET", "/v1/changes", { key: ada });
    await ask("POST", "/v1/sessions/b/messages", { key: bob, ...append("q1") });
    await ask("POST", "/v1/sessions/new/messages", { key: ada, ...append("q1") });
    await ask("POST", "/v1/sessions/old/messages", { key: ada, ...append("q2") });
    const events = await eventsOf(stream, 2);
    expect(events.map(({ data }) => data.session).sort()).toEqual(["new", "old"]);
    const missed = await ask("GET", `/v1/changes?wait=5&after=${encodeURIComponent(events[1]?.id ?? "")}`, {
      key: bob,
    });
    expect(missed.body.data).toMatchObject([{ session: "b", kind: "changed" }]);
    for (const after of ["nonsense", "2020-01-01T00:00:00.000Z"]) {
      expect((await ask("GET", `/v1/changes?wait=1&after=${after}`)).body.code).toBe("INVALID_ARGUMENT");
    }
  });

  it.each(["/v1/changes", "/v1/sessions/a/changes"])(
    "says where a silent stream stands, so that whoever comes again much later goes on: %s",
    async (path) => {
      const { ask, send } = await serveRest();
      await ask("POST", "/v1/sessions/a/messages", append("q1"));
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
      try {
        const reader = ((await send("GET", path)).body as ReadableStream<Uint8Array>).getReader();
        const read = async () => new TextDecoder().decode((await reader.read()).value);
        await read();
        const next = read();
        await vi.advanceTimersByTimeAsync(20_000);
        const id = /^id: (.+)\n\n$/.exec(await next)?.[1] ?? "";
        await reader.cancel();
        await vi.advanceTimersByTimeAsync(3_500_000);
        await ask("POST", "/v1/sessions/a/messages", append("q2"));
        const missed = ask("GET", `${path}?wait=1&after=${encodeURIComponent(id)}`);
        await vi.advanceTimersByTimeAsync(2_000);
        expect((await missed).body.data).toMatchObject([{ session: "a", kind: "changed" }]);
      } finally {
        vi.useRealTimers();
      }
    },
  );

  it("ends when the server does, and lets a key hear no more than 64 times at once", async () => {
    let isReady = true;
    const { ask, send } = await serveRest({ isReady: () => isReady });
    await ask("POST", "/v1/sessions/a/messages", append("q1"));
    const leaves = new AbortController();
    const { signal } = leaves;
    const waiting = Array.from({ length: 65 }, () => send("GET", "/v1/sessions/a/changes?wait=20", { signal }));
    // Whichever of them comes last.
    expect((await Promise.race(waiting)).status).toBe(429);
    expect((await ask("GET", "/v1/changes")).status).toBe(429);
    isReady = false;
    expect((await Promise.all(waiting)).map(({ status }) => status).sort()).toEqual([...Array(64).fill(200), 429]);
    const stream = await send("GET", "/v1/changes");
    expect(await stream.text()).toBe("retry: 1000\n\n");
  });

  it("takes no place for an answer without a body, and gives that of a reader who left to others", async () => {
    const { send } = await serveRest();
    for (let times = 0; times < 65; times += 1) {
      expect((await send("HEAD", "/v1/changes")).status).toBe(200);
    }
    const streams = await Promise.all(Array.from({ length: 64 }, () => send("GET", "/v1/changes")));
    expect((await send("GET", "/v1/changes")).status).toBe(429);
    await Promise.all(streams.map(({ body }) => body?.cancel()));
    expect((await send("GET", "/v1/changes")).status).toBe(200);
  });
});
