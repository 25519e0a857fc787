// A model of each major version of the AI SDK with a session's memory, against a server that speaks OpenAI's protocol.
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { bundle } from "../../runner/bundle.js";

type Request = { stream?: boolean; messages: { role: string; content: unknown }[] };

let server: Server;
let requests: Request[];
/** How many requests fail before one is answered. */
let failures: number;

beforeEach(() => {
  requests = [];
  failures = 0;
});

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const asked = JSON.parse(await bodyOf(request)) as Request;
    requests.push(asked);
    if (failures > 0) {
      failures -= 1;
      response.writeHead(500, { "retry-after-ms": "1" }).end("{}");
      return;
    }
    const last = asked.messages.at(-1);
    const isTea = last?.role === "user" && JSON.stringify(last.content).includes("tea");
    const call = {
      index: 0,
      id: `call-${requests.length}`,
      type: "function",
      function: { name: "brew", arguments: "{}" },
    };
    const message = isTea ? { role: "assistant", tool_calls: [call] } : { role: "assistant", content: "Here you are." };
    const finish_reason = isTea ? "tool_calls" : "stop";
    const usage = { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 };
    const about = { id: "1", created: 1, model: "one" };
    if (asked.stream !== true) {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ ...about, choices: [{ index: 0, message, finish_reason }], usage }));
      return;
    }
    response.setHeader("content-type", "text/event-stream");
    const send = (chunk: object) => response.write(`data: ${JSON.stringify({ ...about, ...chunk })}\n\n`);
    send({ choices: [{ index: 0, delta: message }] });
    // It stands still until its reader leaves.
    if (JSON.stringify(last?.content).includes("forever")) return;
    send({ choices: [{ index: 0, delta: {}, finish_reason }], usage });
    response.end("data: [DONE]\n\n");
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = "";
  for await (const chunk of request) body += chunk;
  return body;
}

const PACKAGES = { 6: "ai", 7: "ai-7" };

describe.each(Object.entries(PACKAGES))("a model of the AI SDK %s", async (major, name) => {
  const programs = await bundle(`remembering-${major}`, ["test/ai-sdk/remembering.ts"], { ai: name });
  const { ai, memory, SessionManager, stemmaMiddleware } = (await import(
    join(programs, "remembering.mjs")
  )) as typeof import("../../ai-sdk/remembering.js");
  const brew = ai.tool({ inputSchema: z.object({}), execute: async () => "brewed" });
  const stopWhen = ai.stepCountIs(4);

  function open(sessions = SessionManager.create(memory()).withContext("memory", { scope: "user" })) {
    const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    const provider = createOpenAICompatible({ name: "local", baseURL, includeUsage: true });
    const middleware = stemmaMiddleware({ sessions, sessionId: "s", userId: "ada" });
    return { model: ai.wrapLanguageModel({ model: provider("one"), middleware }), sessions };
  }
  const answerWithTool = [
    { type: "step-start" },
    { type: "tool-brew", state: "output-available", input: {}, output: "brewed" },
    { type: "step-start" },
    { type: "text", text: "Here you are." },
  ];

  it("stores and shows the steps of generateText", async () => {
    const { model, sessions } = open();
    failures = 1;
    await ai.generateText({ model, prompt: "Make tea", tools: { brew }, stopWhen });
    await ai.generateText({ model, prompt: "Thanks" });
    const history = await sessions.getHistory("s");
    expect(history.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
    expect(history[1]?.parts).toMatchObject(answerWithTool);
    const roles = requests
      .at(-1)
      ?.messages.map(({ role }) => role)
      .filter((role) => role !== "system");
    expect(roles).toEqual(["user", "assistant", "tool", "assistant", "user"]);
  });

  it("stores and shows those of streamText", async () => {
    const { model, sessions } = open();
    for (const prompt of ["Make tea", "Thanks"]) {
      const { textStream } = ai.streamText({ model, prompt, tools: { brew }, stopWhen });
      let text = "";
      for await (const piece of textStream) text += piece;
      expect(text).toBe("Here you are.");
    }
    const history = await sessions.getHistory("s");
    expect(history.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
    expect(history[1]?.parts).toMatchObject(answerWithTool);
  });

  it("stores what an agent does", async () => {
    const { model, sessions } = open();
    const agent = new ai.ToolLoopAgent({ model, tools: { brew }, stopWhen });
    await agent.generate({ prompt: "Make tea" });
    expect((await sessions.getHistory("s"))[1]?.parts).toMatchObject(answerWithTool);
  });

  it("stores what was received before an abort", async () => {
    const { model, sessions } = open();
    const stop = new AbortController();
    const { textStream } = ai.streamText({
      model,
      prompt: "Go on forever",
      abortSignal: stop.signal,
      onError: () => {},
    });
    for await (const text of textStream) if (text !== "") stop.abort();
    await expect
      .poll(async () => (await sessions.getHistory("s")).at(-1))
      .toMatchObject({ role: "assistant", metadata: { interrupted: "aborted" } });
  });

  it("is refused when it is wrapped twice", () => {
    const { model, sessions } = open();
    expect(model.specificationVersion).toBe(major === "6" ? "v3" : "v4");
    const middleware = stemmaMiddleware({ sessions, sessionId: "t" });
    expect(() => ai.wrapLanguageModel({ model, middleware })).toThrow("already");
  });
});
