import { SessionManager } from "stemma";
import { chatHandler } from "stemma/ai-sdk";
import { memory } from "stemma/memory";
import { afterEach, describe, expect, it } from "vitest";
import { lastUserText, type Say, scriptedModel } from "../../ai-sdk/scripted-model.js";
import { serve } from "../../ai-sdk/server.js";
import { open, type Screen } from "../../react/screen.js";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** A server whose model says what the script says, and screens that show its chats. */
async function start(script: (text: string, calls: number) => Say = (text, calls) => `Answer ${calls} to ${text}.`) {
  let calls = 0;
  const { model } = scriptedModel((prompt) => script(lastUserText(prompt), ++calls));
  const manager = SessionManager.create(memory());
  const handler = chatHandler({
    sessions: manager,
    model,
    authenticate: (request) => {
      const userId = request.headers.get("authorization");
      return userId === null ? null : { userId };
    },
  });
  const server = await serve(handler);
  closing.push(() => server.close());
  const requests: { path: string; body: unknown }[] = [];
  const api = `${server.url}/api/chat`;
  const options = {
    api,
    headers: { authorization: "anna" },
    fetch: (async (input, init) => {
      const path = String(input).slice(api.length);
      requests.push({ path, body: typeof init?.body === "string" ? JSON.parse(init.body) : null });
      return fetch(input, init);
    }) as typeof fetch,
  };
  const show = async (id?: string): Promise<Screen> => {
    const screen = await open(id === undefined ? options : { ...options, id });
    closing.push(() => screen.close());
    if (id !== undefined) await screen.until((chat) => !chat.isLoading);
    return screen;
  };
  return { show, options, requests, manager };
}

/** It takes six seconds, however busy the machine is, so it does not end before it is stopped. */
const LONG_ANSWER = `${"one more word ".repeat(33)}and the last`;

const answered = ({ status, messages }: Screen["chat"]) => status === "ready" && messages.at(-1)?.role === "assistant";
const has = (screen: Screen, row: string) => () => screen.lines().includes(row);

async function say(screen: Screen, text: string): Promise<void> {
  const count = screen.chat.messages.length;
  await screen.until(
    (chat) => answered(chat) && chat.messages.length === count + 2,
    () => screen.chat.sendMessage({ text }),
  );
}

describe("useChatTree", () => {
  it("loads nothing of a chat that begins here, and goes on with it once it is stored", async () => {
    const { show, options, requests } = await start();
    const screen = await open({ ...options, id: "c", isNew: true });
    closing.push(() => screen.close());
    expect(screen.chat.isLoading).toBe(false);
    expect(requests).toEqual([]);
    await say(screen, "hello");
    expect(screen.lines()).toEqual(["user: hello", "assistant: Answer 1 to hello."]);
    expect((await show("c")).lines()).toEqual(screen.lines());
  });

  it("shows the siblings of an answer that was asked for again, and selects one", async () => {
    const { show } = await start();
    const screen = await show("c");
    await say(screen, "hello");
    expect(screen.lines()).toEqual(["user: hello", "assistant: Answer 1 to hello."]);
    await screen.until(has(screen, "assistant: Answer 2 to hello. ‹ 2/2 ›"), () => screen.chat.regenerate());
    const { previous, next } = screen.chat.siblings(screen.chat.messages[1]?.id as string);
    expect(next).toBeNull();
    await screen.until(has(screen, "assistant: Answer 1 to hello. ‹ 1/2 ›"), () => screen.chat.select(previous ?? ""));
    // What is said next continues the branch that is shown.
    await say(screen, "more");
    expect(screen.lines()).toEqual([
      "user: hello",
      "assistant: Answer 1 to hello. ‹ 1/2 ›",
      "user: more",
      "assistant: Answer 3 to more.",
    ]);
    expect((await show("c")).lines()).toEqual(screen.lines());
  });

  it("edits a message: the old one stays as its sibling", async () => {
    const { show, manager } = await start();
    const screen = await show("c");
    await say(screen, "hello");
    await say(screen, "more");
    const [first] = screen.chat.messages;
    await screen.until(has(screen, "user: goodbye ‹ 2/2 ›"), () => screen.chat.edit(first?.id as string, "goodbye"));
    await screen.until(answered);
    expect(screen.lines()).toEqual(["user: goodbye ‹ 2/2 ›", "assistant: Answer 3 to goodbye."]);
    // It has the id under which it is stored.
    const stored = await manager.getHistory("c");
    expect(screen.chat.messages.map(({ id }) => id)).toEqual(stored.map(({ id }) => id));
    const before = screen.chat.siblings(stored[0]?.id as string).previous;
    expect(before).toBe(first?.id);
    await screen.until(has(screen, "user: hello ‹ 1/2 ›"), () => screen.chat.select(before as string));
    expect(screen.lines()).toHaveLength(4);
    // With parts, of the message that is shown now.
    const parts = [{ type: "text" as const, text: "third" }];
    await screen.until(has(screen, "user: third ‹ 3/3 ›"), () => screen.chat.edit(first?.id as string, { parts }));
  });

  it("stops the answer on the server by the id of its run", async () => {
    const { show, requests, manager } = await start(() => ({ slow: LONG_ANSWER, pause: 60 }));
    const screen = await show("c");
    expect(await screen.chat.stop()).toBe(false);
    let stopped: Promise<boolean> | undefined;
    await screen.until(
      ({ status }) => status === "submitted",
      () => screen.chat.sendMessage({ text: "count" }),
    );
    // Before the run's id is known, too.
    await screen.until(answered, () => {
      stopped = screen.chat.stop();
    });
    expect(await stopped).toBe(true);
    expect(requests.find(({ path }) => path === "/c/stop")?.body).toEqual({ runId: expect.any(String) });
    const [, answer] = await manager.getHistory("c");
    expect(JSON.stringify(answer ?? "")).not.toContain("last");
  });

  it("shows an answer that is under way once, after a reload and in another tab", async () => {
    const { show } = await start(() => ({ slow: "one two three four five six seven", pause: 40 }));
    const screen = await show("c");
    await screen.until(
      ({ messages }) => messages.length === 2,
      () => screen.chat.sendMessage({ text: "count" }),
    );
    const other = await show("c");
    await other.until(answered);
    await screen.until(answered);
    expect(other.lines()).toEqual(["user: count", "assistant: one two three four five six seven"]);
    expect(screen.lines()).toEqual(other.lines());
  });

  it("shows an answer that ended between the reading of the chat and that of its stream", async () => {
    const { show, options } = await start(() => ({ slow: "one two three four", pause: 60 }));
    const screen = await show("c");
    await screen.until(
      ({ messages }) => messages.length === 2,
      () => screen.chat.sendMessage({ text: "count" }),
    );
    const { api, headers } = options;
    const statusOfRun = async () => (await (await fetch(`${api}/c`, { headers })).json()).run.status;
    const late: typeof fetch = async (input, init) => {
      if (String(input).endsWith("/stream")) await expect.poll(statusOfRun).toBe("completed");
      return fetch(input, init);
    };
    const other = await open({ ...options, id: "c", fetch: late });
    closing.push(() => other.close());
    await other.until(answered);
    expect(other.lines()).toEqual(["user: count", "assistant: one two three four"]);
  });

  it("asks once more, and no more, for a stream that is said to be there and is not", async () => {
    const { show, options } = await start(() => ({ slow: "one two three four", pause: 200 }));
    const screen = await show("c");
    await screen.until(
      ({ messages }) => messages.length === 2,
      () => screen.chat.sendMessage({ text: "count" }),
    );
    const asked: string[] = [];
    const without: typeof fetch = async (input, init) => {
      asked.push(String(input).endsWith("/stream") ? "stream" : "chat");
      return asked.at(-1) === "stream" ? new Response(null, { status: 204 }) : fetch(input, init);
    };
    const other = await open({ ...options, id: "c", fetch: without });
    closing.push(() => other.close());
    // The chat is read twice to begin with: React runs effects twice while it is developed with.
    const fromStream = () => asked.join(" ").replace(/^(?:chat ?)+/, "");
    await expect.poll(fromStream).toBe("stream chat");
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(fromStream()).toBe("stream chat");
    expect(other.lines()[0]).toBe("user: count");
  });

  it("shows what another tab wrote, and the answer that it waits for, when it is loaded again", async () => {
    const { show, manager } = await start((text) => ({ slow: `you said ${text} some time ago`, pause: 40 }));
    const [screen, other] = [await show("c"), await show("c")];
    await say(screen, "hello");
    await other.until(answered, () => other.chat.reload());
    expect(other.lines()).toEqual(screen.lines());
    await screen.until(
      ({ messages }) => messages.length === 4,
      () => screen.chat.sendMessage({ text: "more" }),
    );
    await other.until(
      (chat) => answered(chat) && chat.messages.length === 4,
      () => other.chat.reload(),
    );
    await screen.until(answered);
    expect(other.lines()).toEqual(screen.lines());
    const [first, second] = await manager.getHistory("c");
    await manager.addCompaction("c", "A greeting.", first?.id as string, second?.id as string);
    await other.until(
      ({ compactions }) => compactions.length === 1,
      () => other.chat.reload(),
    );
    expect(other.chat.compactions).toMatchObject([{ summary: "A greeting.", toMessageId: second?.id }]);
    expect(other.chat.messages).toHaveLength(4);
  });

  it("stops an answer that it resumed", async () => {
    const { show } = await start(() => ({ slow: LONG_ANSWER, pause: 60 }));
    const screen = await show("c");
    await screen.until(
      ({ messages }) => messages.length === 2,
      () => screen.chat.sendMessage({ text: "count" }),
    );
    const other = await show("c");
    await other.until(({ messages }) => messages.length === 2);
    let stopped: Promise<boolean> | undefined;
    await other.until(answered, () => {
      stopped = other.chat.stop();
    });
    expect(await stopped).toBe(true);
    await screen.until(answered);
    expect(screen.lines()[1]).not.toContain("last");
  });

  it("opens another chat under another id", async () => {
    const { show, options } = await start();
    const screen = await show("c");
    await say(screen, "hello");
    await screen.rerender({ ...options, id: "d" });
    await screen.until(({ isLoading }) => !isLoading);
    expect(screen.lines()).toEqual([]);
    await say(screen, "here");
    await screen.rerender({ ...options, id: "c" });
    await screen.until(({ isLoading, messages }) => !isLoading && messages.length === 2);
    expect(screen.lines()[0]).toBe("user: hello");
  });

  it("asks for no stored messages of a chat that it names itself", async () => {
    const { show, requests } = await start();
    const screen = await show();
    expect(screen.chat.isLoading).toBe(false);
    expect(requests).toEqual([]);
    await say(screen, "hello");
    await screen.until(has(screen, "assistant: Answer 2 to hello. ‹ 2/2 ›"), () => screen.chat.regenerate());
  });

  it("reads a long chat from its end, and sends no more of it than the server needs", async () => {
    const { show, requests, manager } = await start();
    const anna = manager.forUser("anna");
    await anna.create("Long", { id: "c" });
    const messages = Array.from({ length: 120 }, (_, index) => {
      return {
        id: `m${index}`,
        role: index % 2 === 0 ? "user" : "assistant",
        parts: [{ type: "text", text: `${index}` }],
      };
    });
    await anna.appendAll("c", messages);
    const screen = await show("c");
    expect(screen.lines()).toHaveLength(50);
    await screen.until(
      ({ messages: shown }) => shown.length === 100,
      () => screen.chat.loadPrevious(),
    );
    expect(screen.chat.hasPrevious).toBe(true);
    await screen.until(
      ({ hasPrevious }) => !hasPrevious,
      () => screen.chat.loadPrevious(),
    );
    expect(screen.lines()).toHaveLength(120);
    await say(screen, "hello");
    const sent = requests.find(({ path, body }) => path === "" && body !== null)?.body as { messages: object[] };
    expect(sent.messages).toHaveLength(4);
    expect(screen.lines()).toHaveLength(122);
  });

  it("tells what the server refuses", async () => {
    const { show, options } = await start();
    const screen = await show("c");
    await say(screen, "hello");
    await expect(screen.chat.select("unknown")).rejects.toMatchObject({
      code: "REQUEST_REFUSED",
      message: "There is no such chat, message or fact.",
      details: { status: 404, code: "NOT_FOUND" },
    });
    const stranger = await open({ ...options, headers: () => ({}) as Record<string, string>, id: "c" });
    closing.push(() => stranger.close());
    await stranger.until(({ error }) => error !== undefined);
    expect(stranger.chat.error?.message).toBe("Sign in first.");
  });

  it.each([200, 502])("says that an answer of %i that is a page has no JSON", async (status) => {
    const { options } = await start();
    const screen = await open({ ...options, id: "c", fetch: async () => new Response("<html>", { status }) });
    closing.push(() => screen.close());
    await screen.until(({ error }) => error !== undefined);
    expect(screen.chat.error).toMatchObject({ code: "REQUEST_REFUSED", details: { status, code: null } });
    expect(screen.chat.error?.message).toContain(`answered ${status} without JSON`);
  });
});
