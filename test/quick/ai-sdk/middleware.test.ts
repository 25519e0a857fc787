import { stepCountIs, streamText, tool, wrapLanguageModel } from "ai";
import { expect, it } from "vitest";
import { z } from "zod";
import { stemmaMiddleware } from "../../../packages/stemma/src/ai-sdk.js";
import { SessionManager } from "../../../packages/stemma/src/session.js";
import { memory } from "../../../packages/store/src/memory.js";
import { type Say, scriptedModel } from "../../ai-sdk/scripted-model.js";

function remembering(script: () => Say) {
  const sessions = SessionManager.create(memory()).withContext("memory", { scope: "user" }).withCachedPrompt();
  const { model, prompts } = scriptedModel(script);
  const middleware = stemmaMiddleware({ sessions, sessionId: "s", userId: "ada" });
  return { history: () => sessions.getHistory("s"), model: wrapLanguageModel({ model, middleware }), prompts };
}

it("stores a message and its answer once, and shows the stored history to the next call", async () => {
  const { history, model, prompts } = remembering(() => "Yes.");
  await streamText({ model, prompt: "One?" }).text;
  await streamText({ model, prompt: "Two?" }).text;
  expect((await history()).map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
  expect(prompts[1]?.filter(({ role }) => role !== "system").map(({ role }) => role)).toEqual([
    "user",
    "assistant",
    "user",
  ]);
});

it("stores the steps of an answer in one message, with the results of its tools", async () => {
  let step = 0;
  const { history, model } = remembering(() => [{ call: "brew" }, "Done."][step++] as Say);
  const brew = tool({ inputSchema: z.object({}), execute: async () => "brewed" });
  await streamText({ model, prompt: "Tea?", tools: { brew }, stopWhen: stepCountIs(3) }).text;
  const [, answer] = await history();
  expect(answer?.parts).toMatchObject([
    { type: "step-start" },
    { type: "tool-brew", state: "output-available", output: "brewed" },
    { type: "step-start" },
    { type: "text", text: "Done." },
  ]);
});

it("stores a question once when its model fails and is asked again", async () => {
  let isFirst = true;
  const { history, model } = remembering(() => {
    if (!isFirst) return "Yes.";
    isFirst = false;
    throw new Error("down");
  });
  await streamText({ model, prompt: "One?", maxRetries: 0, onError: () => {} }).consumeStream();
  await streamText({ model, prompt: "One?" }).text;
  expect((await history()).map(({ role }) => role)).toEqual(["user", "assistant"]);
});

it("refuses a model that remembers already", () => {
  const { model } = remembering(() => "Yes.");
  const sessions = SessionManager.create(memory());
  expect(() => wrapLanguageModel({ model, middleware: stemmaMiddleware({ sessions, sessionId: "t" }) })).toThrow(
    "already",
  );
});

it("stores what was received before an abort, marked", async () => {
  const { history, model } = remembering(() => ({ slow: "One two three four.", pause: 20 }));
  const stop = new AbortController();
  const { textStream } = streamText({ model, prompt: "Count.", abortSignal: stop.signal, onError: () => {} });
  for await (const text of textStream) if (text !== "") stop.abort();
  await expect.poll(async () => (await history()).at(-1)?.metadata).toMatchObject({ interrupted: "aborted" });
});

it("keeps two messages at once in order, each with its answer", async () => {
  const { history, model } = remembering(() => "Yes.");
  await Promise.all(["One?", "Two?"].map((prompt) => streamText({ model, prompt }).text));
  expect((await history()).map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
});
