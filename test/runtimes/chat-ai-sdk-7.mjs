// Run beside ai-sdk-7.mjs: the chat handler against the transport and the chat of `ai` 7, over HTTP.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { Readable } from "node:stream";
import { AbstractChat, DefaultChatTransport, tool } from "ai";
import { MockLanguageModelV4, simulateReadableStream } from "ai/test";
import { SessionManager } from "stemma";
import { chatHandler } from "stemma/ai-sdk";
import { sqlite } from "stemma/sqlite";
import { z } from "zod";

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
};
const text = (...pieces) => [
  { type: "text-start", id: "1" },
  ...pieces.map((delta) => ({ type: "text-delta", id: "1", delta })),
  { type: "text-end", id: "1" },
];
const call = { type: "tool-call", toolCallId: "t1", toolName: "remove", input: "{}" };
const slow = Array.from({ length: 40 }, (_, index) => `${index} `);
const script = [text("Hello."), text("Hello again."), [call], text("Removed."), text(...slow), text(...slow)];

const model = new MockLanguageModelV4({
  doStream: async ({ abortSignal }) => {
    const said = script.shift();
    const unified = said[0] === call ? "tool-calls" : "stop";
    const end = { type: "finish", finishReason: { unified, raw: "" }, usage };
    const chunks = [{ type: "stream-start", warnings: [] }, ...said, end];
    const stream = simulateReadableStream({ chunks, chunkDelayInMs: said.length > 20 ? 20 : null });
    const breaks = new TransformStream({
      start: (controller) => abortSignal.addEventListener("abort", () => controller.error(abortSignal.reason)),
    });
    return { stream: stream.pipeThrough(breaks) };
  },
});

const handler = chatHandler({
  sessions: SessionManager.create(sqlite(":memory:")).withContext("memory").withCachedPrompt(),
  model,
  tools: { remove: tool({ inputSchema: z.object({}), needsApproval: true, execute: async () => "removed" }) },
  authenticate: () => ({ userId: "anna" }),
  onError: (error) => console.error(error),
});

const server = createServer(async (incoming, outgoing) => {
  const { method, headers, url } = incoming;
  const body = method === "GET" ? {} : { body: Readable.toWeb(incoming), duplex: "half" };
  const response = await handler(new Request(`http://${headers.host}${url}`, { method, headers, ...body }));
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body === null) outgoing.end();
  else
    Readable.fromWeb(response.body)
      .on("error", () => {})
      .pipe(outgoing);
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const api = `http://127.0.0.1:${server.address().port}/api/chat`;

class Chat extends AbstractChat {
  constructor({ messages = [], ...init }) {
    const state = {
      status: "ready",
      error: undefined,
      messages,
      pushMessage: (message) => state.messages.push(message),
      popMessage: () => state.messages.pop(),
      replaceMessage: (index, message) => {
        state.messages[index] = message;
      },
      snapshot: (value) => structuredClone(value),
    };
    super({ ...init, id: "c1", transport: new DefaultChatTransport({ api }), state });
  }
}

const textOf = (message) => message.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
const stored = async () => (await fetch(`${api}/c1`)).json();
const inMiddle = async (chat) => {
  while (!textOf(chat.messages.at(-1)).includes("5 ")) await new Promise((wake) => setTimeout(wake, 10));
};

let runId = "";
const chat = new Chat({
  onData: ({ data }) => {
    ({ runId } = data);
  },
});
await chat.sendMessage({ text: "Hi" });
assert.deepEqual(chat.messages.map(textOf), ["Hi", "Hello."]);
await chat.regenerate();
const [, answer] = (await stored()).messages;
assert.equal(textOf(answer), "Hello again.");
assert.equal((await stored()).siblings[answer.id].length, 2);

await chat.sendMessage({ text: "Remove it" });
const { approval } = chat.messages.at(-1).parts.find(({ type }) => type === "tool-remove");
await chat.addToolApprovalResponse({ id: approval.id, approved: true });
await chat.sendMessage();
assert.equal(textOf(chat.messages.at(-1)), "Removed.");
assert.equal(chat.messages.length, 4);
const page = await stored();
assert.deepEqual(page.messages.map(textOf), chat.messages.map(textOf));
assert.equal(page.messages[3].parts[1].output, "removed");
assert.deepEqual(page.chat.usage, { inputTokens: 40, outputTokens: 20, cost: 0 });

const stopped = chat.sendMessage({ text: "Count" });
await inMiddle(chat);
const body = JSON.stringify({ runId });
assert.deepEqual(await (await fetch(`${api}/c1/stop`, { method: "POST", body })).json(), { stopped: true });
await stopped;
assert.deepEqual((await stored()).messages.at(-1).metadata, { interrupted: "aborted" });

const left = chat.sendMessage({ text: "Count again" });
await inMiddle(chat);
const tab = new Chat({ messages: (await stored()).messages });
await chat.stop();
await left;
await tab.resumeStream();
assert.equal(textOf(tab.messages.at(-1)), slow.join(""));
assert.equal(textOf((await stored()).messages.at(-1)), slow.join(""));
server.closeAllConnections();
server.close();
console.log("chat: 5 passed, 0 failed");
