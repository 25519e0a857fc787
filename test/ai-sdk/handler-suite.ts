import { DefaultChatTransport, tool, type UIMessage } from "ai";
import { z } from "zod";
import {
  type ChatHandler,
  type ChatMatches,
  type ChatMemory,
  type ChatPage,
  chatHandler,
  type RunData,
} from "../../packages/stemma/src/ai-sdk.js";
import { SessionManager } from "../../packages/stemma/src/session.js";
import { Chat, textOf } from "./chat.js";
import { describeFacts } from "./facts-suite.js";
import { lastUserText, type Say, scriptedModel } from "./scripted-model.js";
import type { Runner } from "./test-runner.js";

const WORDS = "one two three four five six seven eight nine ten";

/** The main cases of the chat handler on any store, without a server: its requests go to the handler itself. */
export function describeHandler(name: string, open: () => object, runner: Runner): void {
  const { describe, it, expect } = runner;
  describeFacts(name, open, runner);
  describe(`the chat handler on ${name}`, () => {
    it("follows up a tool, stores what was said, and remembers", async () => {
      const { manager, chat, page } = start(open(), (_text, calls) => {
        const input = { label: "memory", content: "Lives in Oslo." };
        return [{ call: "weather", input: { city: "Oslo" } }, { call: "set_context", input }, "Sunny."][calls] as Say;
      });
      const talk = chat();
      await talk.sendMessage({ text: "How is the weather here in Oslo?" });
      expect(talk.error).toBe(undefined);
      expect(textOf(talk.messages[1])).toBe("Sunny.");
      const { messages, run } = await page();
      const { createdAt, ...answer } = messages[1] as UIMessage & { createdAt: string };
      expect(answer).toEqual(JSON.parse(JSON.stringify(talk.messages[1])));
      const stored = (await manager.getSession(talk.id).getTree()).find(({ id }) => id === answer.id);
      expect(createdAt).toBe(stored?.createdAt);
      expect(messages.map(({ id }) => id)).toEqual(talk.messages.map(({ id }) => id));
      expect(messages[1]?.parts[1]).toMatchObject({ state: "output-available", output: "Sunny in Oslo" });
      expect(run?.status).toBe("completed");
      expect((await manager.readContextBlock(talk.id, "memory"))?.content).toBe("Lives in Oslo.");
    });

    it("keeps both answers when one is asked for again", async () => {
      const { chat, page } = start(open(), (_text, calls) => `Answer ${calls + 1}.`);
      const talk = chat();
      await talk.sendMessage({ text: "Hello" });
      const first = talk.messages[1]?.id;
      await talk.regenerate();
      const { messages, siblings } = await page();
      const second = messages[1]?.id as string;
      expect(messages.map(textOf)).toEqual(["Hello", "Answer 2."]);
      expect(siblings).toEqual({ [second]: [first, second] });
    });

    it("stops the run that is named, and marks its answer", async () => {
      const slow = `${WORDS} ${"and on ".repeat(500)}to the end`;
      const { chat, page, ask } = start(open(), () => ({ slow, pause: 50 }));
      let runId = "";
      const talk = chat({
        onData: ({ data }) => {
          runId = (data as RunData).runId;
        },
      });
      const answered = talk.sendMessage({ text: "Count" });
      await until(() => textOf(talk.messages[1]).includes("two"));
      const stop = async (id: string) => (await ask(`/${talk.id}/stop`, { runId: id })).json();
      expect(await stop("stale")).toEqual({ stopped: false });
      expect(await stop(runId)).toEqual({ stopped: true });
      await answered;
      const { messages, run } = await page();
      expect(run?.status).toBe("stopped");
      expect(messages[1]?.metadata).toEqual({ interrupted: "aborted" });
      expect(textOf(messages[1]).startsWith("one two")).toBe(true);
      expect(textOf(messages[1])).not.toContain("to the end");
    });

    it("goes on when the client leaves, and shows the rest to whoever comes back", async () => {
      const { chat, page, ask } = start(open(), () => ({ slow: WORDS, pause: 50 }));
      const talk = chat();
      const answered = talk.sendMessage({ text: "Count" });
      await until(() => textOf(talk.messages[1]).includes("two"));
      const tab = chat({ messages: (await page()).messages });
      await talk.stop();
      await answered;
      await tab.resumeStream();
      expect(textOf(tab.messages[1])).toBe(WORDS);
      expect((await page()).messages.map(textOf)).toEqual(["Count", WORDS]);
      expect((await ask(`/${talk.id}/stream`)).status).toBe(204);
    });

    it("changes the name and the metadata of a chat", async () => {
      const { chat, ask, manager } = start(open(), () => "Hi.");
      const talk = chat();
      await talk.sendMessage({ text: "Hello" });
      const change = async (body: unknown, user?: string) => {
        const response = await ask(`/${talk.id}`, body, user, "PATCH");
        return [response.status, await response.json()];
      };
      const [status, info] = await change({ name: "Greetings", metadata: { pinned: true, tag: "a" } });
      expect([status, info.name, info.metadata]).toEqual([200, "Greetings", { pinned: true, tag: "a" }]);
      const [, next] = await change({ metadata: { pinned: null } });
      expect([next.id, next.name, next.metadata]).toEqual([talk.id, "Greetings", { tag: "a" }]);
      expect((await change({ name: "" }))[1].name).toBe("");
      const wrong = [{}, { name: 1 }, { name: null }, { metadata: [] }, { title: "x" }];
      for (const body of wrong) expect((await change(body))[1].error.code).toBe("INVALID_ARGUMENT");
      expect((await change({ name: "mine" }, "bob"))[0]).toBe(404);
      const unknown = crypto.randomUUID();
      expect((await ask(`/${unknown}`, { name: "new" }, "anna", "PATCH")).status).toBe(404);
      expect(await manager.get(unknown)).toBe(null);
      expect((await manager.get(talk.id))?.name).toBe("");
    });

    it("finds messages in the chats of the user, and of nobody else", async () => {
      const { chat, ask, manager } = start(open(), (text) => `You said: ${text}`);
      const word = `w${crypto.randomUUID().replaceAll("-", "")}`;
      const talk = chat();
      await talk.sendMessage({ text: `The ${word} is here` });
      await manager.rename(talk.id, "About a word");
      const bobs = manager.forUser("bob").getSession(crypto.randomUUID());
      await bobs.appendMessage({ id: "b", role: "user", parts: [{ type: "text", text: word }] });
      const find = async (query: string, user?: string) =>
        (await ask(`?q=${encodeURIComponent(word)}${query}`, undefined, user)).json() as Promise<ChatMatches>;
      const { matches, nextCursor } = await find("");
      const [question] = talk.messages;
      expect(matches.map(({ messageId }) => messageId).sort()).toEqual(talk.messages.map(({ id }) => id).sort());
      expect(nextCursor).toBe(null);
      const { createdAt, ...match } = matches.find(({ role }) => role === "user") as ChatMatches["matches"][number];
      const about = { chatId: talk.id, chatName: "About a word", messageId: question?.id, role: "user" };
      expect(match).toEqual({ ...about, snippet: `The «${word}» is here` });
      expect(Date.parse(createdAt)).toBeGreaterThan(Date.now() - 600_000);
      const first = await find("&limit=1");
      const second = await find(`&limit=1&cursor=${encodeURIComponent(first.nextCursor ?? "")}`);
      expect([...first.matches, ...second.matches]).toEqual(matches);
      expect((await find("", "bob")).matches.map(({ messageId }) => messageId)).toEqual(["b"]);
      const recall = async (query: string, user?: string) => (await ask(`?recall=${query}`, undefined, user)).json();
      expect((await recall(word)).results.map(({ content }: { content: string }) => content).sort()).toEqual(
        [`The ${word} is here`, `You said: The ${word} is here`].sort(),
      );
      expect((await recall(word, "bob")).results.map(({ content }: { content: string }) => content)).toEqual([word]);
      expect((await recall("thanks")).results).toEqual([]);
      expect((await ask("?recall=a&maxTokens=0")).status).toBe(400);
      expect((await (await ask("?q=")).json()).matches).toEqual([]);
      for (const wrong of ["&limit=0", "&cursor=x"]) {
        expect((await ask(`?q=a${wrong}`)).status).toBe(400);
      }
    });

    it("tells what is remembered, and by which message, and nothing of instructions", async () => {
      const { chat, ask } = start(open(), (_text, calls) => {
        const input = (content: string) => ({ label: "memory", content });
        return [
          { call: "set_context", input: input("Lives in Oslo.") },
          "Noted.",
          { call: "set_context", input: input("Lives in Bergen.") },
          "Noted.",
        ][calls] as Say;
      });
      const remembered = async (id: string, user?: string) => {
        const response = await ask(`/${id}/memory`, undefined, user);
        return (response.status === 200 ? await response.json() : response.status) as ChatMemory;
      };
      const talk = chat();
      const empty = { label: "memory", description: "Facts", content: "", versions: [] };
      expect(await remembered(talk.id)).toEqual({ blocks: [empty] });
      expect((await ask(`/${talk.id}`)).status).toBe(404);
      await talk.sendMessage({ text: "I live in Oslo" });
      await talk.sendMessage({ text: "I moved to Bergen" });
      const [block] = (await remembered(talk.id)).blocks;
      expect(block).toMatchObject({ label: "memory", description: "Facts", content: "Lives in Bergen." });
      expect(block?.versions.map(({ version, content, author }) => [version, content, author])).toEqual([
        [2, "Lives in Bergen.", "model"],
        [1, "Lives in Oslo.", "model"],
      ]);
      expect(block?.versions.map(({ message }) => message)).toEqual([
        { chatId: talk.id, chatName: "", messageId: talk.messages[2]?.id, text: "I moved to Bergen" },
        { chatId: talk.id, chatName: "", messageId: talk.messages[0]?.id, text: "I live in Oslo" },
      ]);
      expect(await remembered(talk.id, "bob")).toEqual(await remembered("not-there", "bob"));
    });

    it("does not show a chat to another user", async () => {
      const { chat, page, ask } = start(open(), (text) => `You said ${text}.`);
      const talk = chat();
      await talk.sendMessage({ text: "Hello" });
      const message = { id: "theirs", role: "user", parts: [{ type: "text", text: "mine" }] };
      for (const [path, body] of [
        [`/${talk.id}`],
        [`/${talk.id}/stop`, { runId: "x" }],
        [`/${talk.id}/select`, { messageId: "x" }],
        ["", { id: talk.id, message }],
      ] as const) {
        expect((await ask(path, body, "bob")).status).toBe(404);
      }
      expect((await page()).messages.map(textOf)).toEqual(["Hello", "You said Hello."]);
    });
  });
}

/** A handler on a store, and one chat of the user anna. */
function start(store: object, script: (text: string, calls: number) => Say) {
  let calls = 0;
  const { model } = scriptedModel((prompt) => script(lastUserText(prompt), calls++));
  const manager = SessionManager.create(store)
    .withContext("instructions", { provider: { get: () => "Be brief." } })
    .withContext("memory", { description: "Facts" })
    .withCachedPrompt();
  const weather = tool({
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => `Sunny in ${city}`,
  });
  const handler = chatHandler({
    sessions: manager,
    model,
    tools: { weather },
    authenticate: (request) => ({ userId: request.headers.get("authorization") ?? "" }),
  });
  const id = crypto.randomUUID();
  const ask = (path: string, body?: unknown, user = "anna", method = "POST") =>
    handler(
      new Request(`${API}${path}`, {
        headers: { authorization: user },
        ...(body === undefined ? {} : { method, body: JSON.stringify(body) }),
      }),
    );
  const transport = new DefaultChatTransport({
    api: API,
    headers: { authorization: "anna" },
    fetch: (url, init) => request(handler, String(url), init),
  });
  return {
    manager,
    ask,
    chat: (init: { messages?: UIMessage[]; onData?: (part: { data: unknown }) => void } = {}) =>
      new Chat({ id, transport, ...init }),
    page: async () => (await ask(`/${id}`)).json() as Promise<ChatPage>,
  };
}

const API = "http://chat.example/api/chat";

/** As `fetch` does: who aborts gets no more of the body, and the handler sees that its reader has gone. */
async function request(handler: ChatHandler, url: string, init: RequestInit | undefined): Promise<Response> {
  const { body, status, headers } = await handler(new Request(url, init));
  const signal = init?.signal;
  const read = signal ? body?.pipeThrough(new TransformStream(), { signal }) : body;
  return new Response(read, { status, headers });
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((wake) => setTimeout(wake, 10));
}
