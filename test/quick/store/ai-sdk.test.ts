import { convertToModelMessages, type UIMessage, validateUIMessages } from "ai";
import { describe, expect, it } from "vitest";
import { Session, SessionManager } from "../../../packages/stemma/src/session.js";
import { memory } from "../../../packages/store/src/memory.js";

interface Metadata {
  createdAt: number;
  usage: { inputTokens: number; outputTokens: number };
}

type ChatMessage = UIMessage<Metadata, { chart: { points: number[] } }>;

const image = `data:image/png;base64,${"iVBORw0KGgo".repeat(500)}=`;

// Every kind of part that the AI SDK 6 has, in the states in which a host saves them.
const conversation: ChatMessage[] = [
  { id: "system", role: "system", parts: [{ type: "text", text: "Be brief." }] },
  {
    id: "question",
    role: "user",
    metadata: { createdAt: 1_700_000_000_000, usage: { inputTokens: 12, outputTokens: 0 } },
    parts: [
      { type: "text", text: "What is the weather in 東京? 🎉\n\n```ts\nconst x = 1;\n```" },
      { type: "file", mediaType: "image/png", filename: "sky.png", url: image },
      { type: "file", mediaType: "application/pdf", url: "https://example.org/report.pdf" },
    ],
  },
  {
    id: "answer",
    role: "assistant",
    metadata: { createdAt: 1_700_000_001_000, usage: { inputTokens: 12, outputTokens: 345 } },
    parts: [
      { type: "step-start" },
      {
        type: "reasoning",
        text: "The user wants the weather.",
        state: "done",
        providerMetadata: { anthropic: { signature: "abc=" } },
      },
      { type: "text", text: "Let me look.", state: "done", providerMetadata: { openai: { itemId: "msg_1" } } },
      {
        type: "tool-weather",
        toolCallId: "call_1",
        state: "output-available",
        input: { city: "東京", units: ["c", "f"], nested: { deep: [1, 2.5, null, true] } },
        output: { degrees: 21.5, sky: null, raw: "" },
        callProviderMetadata: { openai: { itemId: "fc_1" } },
      },
      {
        type: "dynamic-tool",
        toolName: "mcp_search",
        toolCallId: "call_2",
        state: "output-available",
        input: { query: "rain" },
        output: [{ type: "text", text: "none" }],
      },
      {
        type: "tool-weather",
        toolCallId: "call_3",
        state: "output-error",
        input: { city: "" },
        errorText: "No such city.",
      },
      { type: "step-start" },
      { type: "source-url", sourceId: "s1", url: "https://example.org/weather", title: "Weather" },
      { type: "source-document", sourceId: "s2", mediaType: "application/pdf", title: "Report", filename: "r.pdf" },
      { type: "data-chart", id: "chart-1", data: { points: [20, 21.5, 23] } },
      { type: "file", mediaType: "image/png", url: image },
      { type: "text", text: "It is 21.5 °C.", state: "done" },
    ],
  },
  { id: "thanks", role: "user", parts: [{ type: "text", text: "Thanks" }] },
  { id: "empty", role: "assistant", parts: [] },
];

describe("UIMessages of the AI SDK", () => {
  it("come out of every read as they went in", async () => {
    const session = Session.create(memory());
    for (const message of conversation) await session.appendMessage(message);
    expect(await session.getHistory<ChatMessage>()).toStrictEqual(conversation);
    for (const message of conversation) expect(await session.getMessage(message.id)).toStrictEqual(message);
    const streamed: ChatMessage[] = [];
    for await (const message of session.history<ChatMessage>()) streamed.push(message);
    expect(streamed).toStrictEqual(conversation);
    expect((await session.getRecentHistory(10_000_000)).messages).toStrictEqual(conversation);
    expect(await session.getBranches("question")).toStrictEqual([conversation[2]]);
  });

  it("come out of a fork and of a second save of the whole history as they went in", async () => {
    const manager = SessionManager.create(memory());
    await manager.appendAll("chat", conversation);
    await manager.appendAll("chat", await manager.getHistory<ChatMessage>("chat"));
    for (const message of await manager.getHistory<ChatMessage>("chat")) await manager.upsert("chat", message);
    const fork = await manager.fork("chat", "empty", "fork");
    expect(await manager.getHistory<ChatMessage>(fork.id)).toStrictEqual(conversation);
  });

  it("are still valid messages of the SDK, which converts them for a model as it does the originals", async () => {
    const session = Session.create(memory());
    await session.appendAll(conversation);
    const history = await session.getHistory<ChatMessage>();
    await validateUIMessages({ messages: history.filter(({ parts }) => parts.length > 0) });
    expect(await convertToModelMessages(history)).toEqual(await convertToModelMessages(conversation));
  });

  it("are converted with a summary among them, whose range separates no tool call from its result", async () => {
    const session = Session.create(memory());
    await session.appendAll(conversation);
    await session.addCompaction("They spoke about the weather.", "question", "answer");
    const history = await session.getHistory<ChatMessage>();
    await validateUIMessages({ messages: history.filter(({ parts }) => parts.length > 0) });
    const messages = await convertToModelMessages(history);
    expect(messages.map(({ role }) => role)).toEqual(["system", "assistant", "user"]);
    expect(messages[1]?.content).toEqual([{ type: "text", text: "They spoke about the weather." }]);
  });

  it("keep the tree of a regenerated answer", async () => {
    const session = Session.create(memory());
    await session.appendAll(conversation.slice(0, 3));
    const second: ChatMessage = { id: "answer 2", role: "assistant", parts: [{ type: "text", text: "Sunny." }] };
    await session.appendMessage(second, "question");
    expect(await session.getBranches<ChatMessage>("question")).toStrictEqual([conversation[2], second]);
    expect(await session.getHistory<ChatMessage>()).toStrictEqual([...conversation.slice(0, 2), second]);
  });
});
