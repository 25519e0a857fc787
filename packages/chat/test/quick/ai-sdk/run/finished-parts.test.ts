import { readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import { expect, it } from "vitest";
import { streamOf } from "../../../../src/ai-sdk/message/replay.js";
import { FinishedParts } from "../../../../src/ai-sdk/run/keeper.js";

const SECRET = "sk-0123456789";

/** Two texts and a call, the pieces of one between those of the other, cut at `at`. */
function chunksCut(at: number): UIMessageChunk[] {
  const deltas = (type: "text-delta" | "reasoning-delta", id: string): UIMessageChunk[] =>
    [SECRET.slice(0, at), SECRET.slice(at)].map((delta) => ({ type, id, delta }));
  const [text1, text2] = deltas("text-delta", "1") as [UIMessageChunk, UIMessageChunk];
  const [thought1, thought2] = deltas("reasoning-delta", "1") as [UIMessageChunk, UIMessageChunk];
  return [
    { type: "start", messageId: "m" },
    { type: "start-step" },
    { type: "reasoning-start", id: "1" },
    thought1,
    { type: "text-start", id: "1" },
    text1,
    { ...thought2, providerMetadata: { some: { signature: "s" } } } as UIMessageChunk,
    { type: "reasoning-end", id: "1" },
    text2,
    { type: "text-end", id: "1" },
    { type: "tool-input-start", toolCallId: "c", toolName: "look" },
    { type: "tool-input-delta", toolCallId: "c", inputTextDelta: `{"a":"${SECRET.slice(0, at)}` },
    { type: "tool-input-delta", toolCallId: "c", inputTextDelta: `${SECRET.slice(at)}"}` },
    { type: "tool-input-available", toolCallId: "c", toolName: "look", input: { a: SECRET } },
    { type: "tool-output-available", toolCallId: "c", output: SECRET.slice(0, at), preliminary: true },
    { type: "tool-output-available", toolCallId: "c", output: SECRET },
    { type: "text-start", id: "2" },
    { type: "text-delta", id: "2", delta: SECRET.slice(0, at) },
    { type: "text-delta", id: "2", delta: SECRET.slice(at) },
    { type: "finish-step" },
    { type: "finish" },
  ];
}

async function messageOf(chunks: readonly UIMessageChunk[]): Promise<UIMessage | undefined> {
  let message: UIMessage | undefined;
  for await (const state of readUIMessageStream({ stream: streamOf(chunks) })) message = structuredClone(state);
  return message;
}

it("stores each text whole, wherever it was cut, and what a client makes of it is the same", async () => {
  for (let at = 0; at <= SECRET.length; at += 1) {
    const given = chunksCut(at);
    const parts = new FinishedParts();
    const stored = [...given.flatMap((chunk) => parts.take(chunk)), ...parts.rest()];
    const texts = stored.map((chunk) => JSON.stringify(chunk));
    const isPart = (text: string) => text.includes("sk") || text.includes("789");
    expect(texts.filter((text) => isPart(text) && !text.includes(SECRET))).toEqual([]);
    expect(await messageOf(stored)).toEqual(await messageOf(given));
  }
});

it("holds a text back until it ends, or nothing more can come", () => {
  const parts = new FinishedParts();
  const delta = (text: string): UIMessageChunk => ({ type: "text-delta", id: "1", delta: text });
  expect([parts.take(delta("a")), parts.take(delta("b"))]).toEqual([[], []]);
  expect(parts.rest()).toEqual([delta("ab")]);
  expect(parts.rest()).toEqual([]);
});
