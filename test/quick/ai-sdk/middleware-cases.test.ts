// What a wrapped model stores and is asked, beyond the plain exchange.
import { generateText, stepCountIs, streamText, tool, type UIMessage, wrapLanguageModel } from "ai";
import * as testing from "ai/test";
import { chatHandler, sessionMemory, stemmaMiddleware } from "stemma/ai-sdk";
import { memory } from "stemma/memory";
import { Session, SessionManager } from "stemma/session";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type Say, scriptedModel } from "../../ai-sdk/scripted-model.js";

const tokens = { total: 3, noCache: 3, cacheRead: 0, cacheWrite: 0, text: 3, reasoning: 0 };
type Content = { type: string; [field: string]: unknown };

/** A model without a stream: each call takes the next of what it says. */
function plainModel(...says: (string | Error | Content[])[]) {
  const prompts: { role: string; content: unknown }[][] = [];
  const model = new testing.MockLanguageModelV3({
    doGenerate: async ({ prompt }) => {
      const said = says[prompts.length] ?? "Yes.";
      prompts.push(prompt);
      if (said instanceof Error) throw said;
      const content = typeof said === "string" ? [{ type: "text", text: said }] : said;
      const usage = { inputTokens: tokens, outputTokens: tokens };
      return { content, finishReason: { unified: "stop", raw: "stop" }, usage, warnings: [] } as never;
    },
  });
  return { model, prompts };
}

const manager = (store: object = memory()) =>
  SessionManager.create(store).withContext("memory", { scope: "user" }).withCachedPrompt();

type Options = Partial<Parameters<typeof stemmaMiddleware>[0]>;
const wrapped = (model: object, sessions: SessionManager, options: Options = {}) =>
  wrapLanguageModel({
    model: model as never,
    middleware: stemmaMiddleware({ sessions, sessionId: "s", userId: "ada", ...options }),
  });

const shown = (messages: readonly { role: string; parts: readonly { text?: unknown }[] }[]) =>
  messages.map(({ role, parts }) => `${role}: ${parts.map(({ text }) => text ?? "").join("")}`);
const brew = tool({ inputSchema: z.object({}), execute: async () => "brewed" });

describe("generateText", () => {
  it("stores each exchange, and counts what it cost", async () => {
    const sessions = manager();
    const { model, prompts } = plainModel("One.", "Two.");
    await generateText({ model: wrapped(model, sessions), prompt: "First?" });
    const { text } = await generateText({ model: wrapped(model, sessions), prompt: "Second?" });
    expect(text).toBe("Two.");
    expect(shown(await sessions.getHistory("s"))).toEqual([
      "user: First?",
      "assistant: One.",
      "user: Second?",
      "assistant: Two.",
    ]);
    expect(prompts[1]?.map(({ role }) => role)).toEqual(["system", "user", "assistant", "user"]);
    expect((await sessions.getUsage({ by: "session" }))[0]).toMatchObject({ inputTokens: 6, outputTokens: 6 });
  });

  it("stores steps, reasoning, sources and files as parts of one message", async () => {
    const sessions = manager();
    const call = { type: "tool-call", toolCallId: "c1", toolName: "brew", input: "{}" };
    const { model } = plainModel(
      [{ type: "reasoning", text: "Hm." }, call],
      [
        { type: "source", sourceType: "url", id: "1", url: "https://a.example/" },
        { type: "file", mediaType: "image/png", data: new Uint8Array([1, 2]) },
        { type: "text", text: "Done." },
      ],
    );
    await generateText({ model: wrapped(model, sessions), prompt: "Tea?", tools: { brew }, stopWhen: stepCountIs(3) });
    expect((await sessions.getHistory("s"))[1]?.parts).toEqual([
      { type: "step-start" },
      { type: "reasoning", text: "Hm.", state: "done" },
      { type: "tool-brew", toolCallId: "c1", state: "output-available", input: {}, output: "brewed" },
      { type: "step-start" },
      { type: "source-url", sourceId: "1", url: "https://a.example/" },
      { type: "file", mediaType: "image/png", url: "data:image/png;base64,AQI=" },
      { type: "text", text: "Done.", state: "done" },
    ]);
  });

  it("stores the question once when the AI SDK tries again", async () => {
    const sessions = manager();
    const down = Object.assign(new Error("down"), { [Symbol.for("vercel.ai.error")]: true });
    const { model } = plainModel(down, "Yes.");
    await expect(generateText({ model: wrapped(model, sessions), prompt: "One?", maxRetries: 0 })).rejects.toThrow();
    await generateText({ model: wrapped(model, sessions), prompt: "One?" });
    expect(shown(await sessions.getHistory("s"))).toEqual(["user: One?", "assistant: Yes."]);
  });

  it("stores the errors of tools, and files of the user", async () => {
    const sessions = manager();
    const { model } = plainModel([{ type: "tool-call", toolCallId: "c1", toolName: "brew", input: "{}" }], "Sorry.");
    const broken = tool({
      inputSchema: z.object({}),
      execute: async (): Promise<string> => {
        throw new Error("no water");
      },
    });
    const file = { type: "file" as const, mediaType: "text/plain", data: new TextEncoder().encode("hi") };
    const content = [{ type: "text" as const, text: "Tea?" }, file];
    const messages = [{ role: "user" as const, content }];
    const stopWhen = stepCountIs(3);
    await generateText({ model: wrapped(model, sessions), messages, tools: { brew: broken }, stopWhen });
    const [question, answer] = await sessions.getHistory("s");
    expect(question?.parts).toEqual([
      { type: "text", text: "Tea?" },
      { type: "file", mediaType: "text/plain", url: "data:text/plain;base64,aGk=" },
    ]);
    expect(answer?.parts[1]).toMatchObject({ state: "output-error", errorText: "no water" });
  });
});

describe("the prompt", () => {
  it("may be the whole history: it is stored and shown once", async () => {
    const sessions = manager();
    const { model, prompts } = plainModel("One.", "Two.");
    const first = { role: "user" as const, content: "First?" };
    const { response } = await generateText({ model: wrapped(model, sessions), messages: [first] });
    const messages = [first, ...response.messages, { role: "user" as const, content: "Second?" }];
    await generateText({ model: wrapped(model, sessions), messages });
    expect(shown(await sessions.getHistory("s"))).toHaveLength(4);
    expect(prompts[1]?.map(({ role }) => role)).toEqual(["system", "user", "assistant", "user"]);
  });

  it("is stored whole in a session without messages", async () => {
    const sessions = manager();
    const { model } = plainModel("Three.");
    const messages = ["user", "assistant", "user"].map((role, n) => ({ role, content: `${n}` })) as never;
    await generateText({ model: wrapped(model, sessions), system: "Be brief.", messages });
    expect(shown(await sessions.getHistory("s"))).toEqual(["user: 0", "assistant: 1", "user: 2", "assistant: Three."]);
  });

  it("keeps the caller's system prompt, with the session's memory behind it", async () => {
    const sessions = manager();
    await sessions.forUser("ada").getSession("s").replaceContextBlock("memory", "Likes tea.");
    const { model, prompts } = plainModel();
    await generateText({ model: wrapped(model, sessions), system: "Be brief.", prompt: "Hello" });
    expect(prompts[0]?.[0]?.content).toMatch(/^Be brief\.\n\n[\s\S]*Likes tea\./);
    expect(prompts[0]).toHaveLength(2);
  });

  it("quotes the user's other chats, and nobody else's", async () => {
    const sessions = manager();
    const { model, prompts } = plainModel();
    const say = (userId: string, sessionId: string, prompt: string, options: Options = {}) =>
      generateText({ model: wrapped(model, sessions, { userId, sessionId, ...options }), prompt });
    await say("ada", "a1", "I am allergic to peanuts.");
    await say("bob", "b1", "Which sauce with peanuts?");
    await say("ada", "a2", "Which sauce with peanuts?");
    await say("ada", "a3", "Which sauce with peanuts, then?", { recall: false });
    expect(prompts.map((prompt) => JSON.stringify(prompt).includes("allergic"))).toEqual([true, false, true, false]);
    await expect(say("bob", "a1", "Mine?")).rejects.toMatchObject({ code: "SESSION_OWNED" });
    expect(await sessions.getHistory("a1")).toHaveLength(2);
  });

  it("that denies a call says so in the stored answer", async () => {
    const sessions = manager();
    const { model } = plainModel([{ type: "tool-call", toolCallId: "c1", toolName: "brew", input: "{}" }], "Fine.");
    const asking = tool({ inputSchema: z.object({}), needsApproval: true, execute: async () => "brewed" });
    const ask = { model: wrapped(model, sessions), tools: { brew: asking } };
    const first = { role: "user" as const, content: "Tea?" };
    const { response, content } = await generateText({ ...ask, messages: [first] });
    const request = content.find(({ type }) => type === "tool-approval-request") as { approvalId: string };
    const approval = { type: "tool-approval-response" as const, approvalId: request.approvalId, approved: false };
    const messages = [first, ...response.messages, { role: "tool" as const, content: [approval] }];
    await generateText({ ...ask, messages });
    const history = await sessions.getHistory("s");
    expect(history).toHaveLength(2);
    expect(history[1]?.parts).toMatchObject([
      { type: "step-start" },
      { type: "tool-brew", state: "output-denied", approval: { approved: false } },
      { type: "step-start" },
      { type: "text", text: "Fine." },
    ]);
  });
});

describe("a store that fails", () => {
  it("leaves the answer, with a warning", async () => {
    const sessions = manager();
    const errors: unknown[] = [];
    const { model } = plainModel("Yes.");
    const doGenerate = model.doGenerate.bind(model);
    model.doGenerate = async (call) => {
      const result = await doGenerate(call);
      await sessions.store.close?.();
      return result;
    };
    const onError = (error: unknown) => errors.push(error);
    const { text, warnings } = await generateText({ model: wrapped(model, sessions, { onError }), prompt: "One?" });
    expect(text).toBe("Yes.");
    expect(warnings).toMatchObject([{ type: "other", message: expect.stringContaining("not stored") }]);
    expect(errors).toHaveLength(1);
  });

  it("leaves the answer of a stream, with an error part", async () => {
    const sessions = manager();
    const { model } = scriptedModel(() => {
      void sessions.store.close?.();
      return "Yes.";
    });
    const errors: unknown[] = [];
    const onError = ({ error }: { error: unknown }) => void errors.push(error);
    const { fullStream } = streamText({ model: wrapped(model, sessions), prompt: "One?", onError });
    const types: string[] = [];
    let text = "";
    for await (const part of fullStream) {
      types.push(part.type);
      if (part.type === "text-delta") text += part.text;
    }
    expect(text).toBe("Yes.");
    expect(types).toContain("error");
    expect(errors).toMatchObject([{ code: "STORE_CLOSED" }]);
  });
});

it("stores what a reader that leaves had received", async () => {
  const sessions = manager();
  const { model } = scriptedModel(() => ({ slow: "One two three four.", pause: 20 }));
  const { stream } = await wrapped(model, sessions).doStream({
    prompt: [{ role: "user", content: [{ type: "text", text: "Count." }] }],
  });
  const reader = stream.getReader();
  for (let next = await reader.read(); next.value?.type !== "text-delta"; next = await reader.read());
  await reader.cancel();
  const [, answer] = await sessions.getHistory("s");
  expect(answer?.metadata).toMatchObject({ interrupted: "aborted" });
});

it("stores what the chat handler would", async () => {
  const script = () => {
    let step = 0;
    return () => [[{ call: "brew", id: "c1" }] as Say[], "Done."][step++] as Say;
  };
  const own = manager();
  const tools = { brew };
  const { model } = scriptedModel(script());
  await streamText({ model: wrapped(model, own), prompt: "Tea?", tools, stopWhen: stepCountIs(3) }).text;
  const served = manager();
  const authenticate = () => ({ userId: "ada" });
  const handler = chatHandler({ sessions: served, model: scriptedModel(script()).model, tools, authenticate });
  const message = { id: "q", role: "user", parts: [{ type: "text", text: "Tea?" }] };
  const body = JSON.stringify({ id: "s", message });
  await (await handler(new Request("http://host/api/chat", { method: "POST", body }))).text();
  const of = async (sessions: SessionManager) =>
    ((await sessions.getHistory("s")) as UIMessage[]).map(({ role, parts, metadata }) => {
      const { toolTimes = {}, ...rest } = (metadata ?? {}) as { toolTimes?: object };
      return { role, parts, metadata: rest, timed: Object.keys(toolTimes) };
    });
  expect(await of(own)).toEqual(await of(served));
});

it("is refused where something else stores: by the handler and by sessionMemory", async () => {
  const sessions = manager();
  const model = wrapped(plainModel().model, sessions);
  const authenticate = () => null;
  expect(() => chatHandler({ sessions, model, authenticate })).toThrow("without stemmaMiddleware()");
  await expect(sessionMemory(Session.create(memory()).forSession("t"), { model })).rejects.toThrow(
    "without stemmaMiddleware()",
  );
});

it("refuses a session id and a model that are none, with an error that names them", async () => {
  const sessions = manager();
  for (const sessionId of [undefined, null, 5, {}, ["s"], "\ud800"]) {
    const make = () => stemmaMiddleware({ sessions, sessionId: sessionId as never });
    expect(make).toThrow(
      expect.objectContaining({ name: "StemmaError", message: expect.stringMatching(/session id/i) }),
    );
  }
  for (const model of [{}, { provider: 5 }, 5, []]) {
    const made = sessionMemory(Session.create(memory()).forSession("t"), { model: model as never });
    await expect(made).rejects.toMatchObject({ code: "INVALID_ARGUMENT", message: expect.stringContaining("model") });
  }
});
