// Run in a folder that has the packed stemma and `ai` 7, on a Node that has its own SQLite: messages of the AI SDK go in
// and come out unchanged, its model messages can be made of them, and its tool loop runs the generated tools.
import assert from "node:assert/strict";
import { convertToModelMessages, generateText, isStepCount } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { Session } from "stemma/session";
import { sqlite } from "stemma/sqlite";

const messages = [
  { id: "u1", role: "user", parts: [{ type: "text", text: "I like tea." }], metadata: { name: "Zoë" } },
  {
    id: "a1",
    role: "assistant",
    parts: [
      { type: "step-start" },
      { type: "reasoning", text: "Tea it is.", providerMetadata: { some: { signature: "x" } } },
      { type: "text", text: "So do I.", state: "done" },
      { type: "file", mediaType: "image/png", url: `data:image/png;base64,${"A".repeat(8_000)}` },
      { type: "source-url", sourceId: "s1", url: "https://example.com/tea" },
      { type: "data-mood", id: "d1", data: { happy: true } },
      {
        type: "tool-brew",
        toolCallId: "t1",
        state: "output-available",
        input: { minutes: 3 },
        output: { ready: true },
      },
    ],
  },
  { id: "u2", role: "user", parts: [{ type: "text", text: "Remember it." }] },
];

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const call = {
  type: "tool-call",
  toolCallId: "c1",
  toolName: "set_context",
  input: '{"label":"memory","content":"Likes tea."}',
};
const answers = [
  { content: [call], finishReason: { unified: "tool-calls", raw: "" }, usage, warnings: [] },
  { content: [{ type: "text", text: "Noted." }], finishReason: { unified: "stop", raw: "" }, usage, warnings: [] },
];
const model = new MockLanguageModelV4({ doGenerate: async () => answers.shift() });

const session = Session.create(sqlite(":memory:")).withContext("memory");
for (const message of messages) await session.appendMessage(message);
const history = await session.getHistory();
assert.deepEqual(history, messages);

const { text } = await generateText({
  model,
  system: await session.freezeSystemPrompt(),
  messages: await convertToModelMessages(history),
  tools: await session.tools(),
  stopWhen: isStepCount(3),
});
assert.equal(text, "Noted.");
assert.equal(session.getContextBlock("memory").content, "Likes tea.");
console.log("1 passed, 0 failed");

await import("./chat-ai-sdk-7.mjs");
await import("./runner-ai-sdk-7.mjs");
