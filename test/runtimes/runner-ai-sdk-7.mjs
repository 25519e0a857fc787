// Run as `ai-sdk-7.mjs` is: the session runner asks a model, runs a tool of its blocks, and asks again.
import assert from "node:assert/strict";
import { MockLanguageModelV4, simulateReadableStream } from "ai/test";
import { createSession } from "stemma/agent";
import { memory } from "stemma/memory";

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const input = JSON.stringify({ label: "memory", content: "Likes tea." });
const answers = [
  [
    { type: "tool-call", toolCallId: "c1", toolName: "set_context", input },
    { type: "finish", finishReason: { unified: "tool-calls", raw: "" }, usage },
  ],
  [
    { type: "text-start", id: "t" },
    { type: "text-delta", id: "t", delta: "Noted." },
    { type: "text-end", id: "t" },
    { type: "finish", finishReason: { unified: "stop", raw: "" }, usage },
  ],
];
const model = new MockLanguageModelV4({
  doStream: async () => ({
    stream: simulateReadableStream({ chunks: [{ type: "stream-start", warnings: [] }, ...answers.shift()] }),
  }),
});

const session = await createSession({ model, sessionStorage: memory(), context: [{ label: "memory" }] });
await session.send("I like tea.");
const events = [];
for await (const event of session.receive()) events.push(event);
assert.deepEqual(events.at(-1), {
  type: "stop",
  stop_reason: "end_turn",
  usage: { input_tokens: 2, output_tokens: 2 },
});
assert.equal((await session.session.readContextBlock("memory")).content, "Likes tea.");
assert.deepEqual(
  model.doStreamCalls[1].prompt.map(({ role }) => role),
  ["system", "user", "assistant", "tool"],
);
await session.close();
console.log("runner: passed");
