// Servers that refuse what the providers' documents and error messages say that they refuse.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { LanguageModel } from "ai";
import { checkAnthropic } from "./strict/anthropic.js";
import { checkChat, checkTemplate } from "./strict/chat.js";
import { checkGoogle } from "./strict/google.js";
import { checkLimits } from "./strict/limits.js";
import { checkResponses } from "./strict/responses.js";
import { checkBedrock, checkMistral } from "./strict/vendors.js";

export type Body = Record<string, unknown>;

const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
const chat = {
  id: "c",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", content: "Fine" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
};

/** For each provider: what it refuses, and its answer to what it takes. */
const PROVIDERS: Record<string, { check: (body: Body) => void; answer: object }> = {
  anthropic: {
    check: checkAnthropic,
    answer: {
      id: "m",
      type: "message",
      role: "assistant",
      model: "claude",
      content: [{ type: "text", text: "Fine" }],
      stop_reason: "end_turn",
      stop_sequence: null,
      usage,
    },
  },
  openai: {
    check: checkResponses,
    answer: {
      id: "r",
      object: "response",
      created_at: 1,
      model: "gpt",
      output: [
        {
          type: "message",
          id: "msg_answer",
          status: "completed",
          role: "assistant",
          content: [{ type: "output_text", text: "Fine", annotations: [] }],
        },
      ],
      usage,
    },
  },
  chat: { check: checkChat, answer: chat },
  google: {
    check: checkGoogle,
    answer: { candidates: [{ content: { role: "model", parts: [{ text: "Fine" }] }, finishReason: "STOP" }] },
  },
  compatible: { check: checkTemplate, answer: chat },
  mistral: { check: checkMistral, answer: chat },
  groq: { check: checkTemplate, answer: chat },
  xai: { check: checkTemplate, answer: chat },
  deepseek: { check: checkTemplate, answer: chat },
  bedrock: { check: checkBedrock, answer: chat },
};

export interface StrictServers {
  /** A model of each provider, behind its own package of the AI SDK. */
  readonly models: Record<string, Exclude<LanguageModel, string>>;
  close(): Promise<void>;
}

export async function strictServers(): Promise<StrictServers> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const provider = request.url?.split("/")[1] ?? "";
    const { check, answer } = PROVIDERS[provider] as (typeof PROVIDERS)[string];
    let error: string | null = null;
    try {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as Body;
      checkLimits(provider, body);
      check(body);
    } catch (cause) {
      error = (cause as Error).message;
    }
    response.writeHead(error === null ? 200 : 400, { "content-type": "application/json" });
    const refusal = { type: "error", error: { type: "invalid_request_error", code: 400, message: error, status: "" } };
    response.end(JSON.stringify(error === null ? answer : refusal));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = (path: string) => `http://127.0.0.1:${(server.address() as AddressInfo).port}/${path}`;
  const vendor = (path: string, name = path) => createOpenAICompatible({ name, baseURL: url(path) })("model");
  const openai = (path: string) => createOpenAI({ apiKey: "k", baseURL: url(path) });
  return {
    models: {
      anthropic: createAnthropic({ apiKey: "k", baseURL: url("anthropic") })("claude-opus-4-6"),
      openai: openai("openai").responses("gpt-5"),
      chat: openai("chat").chat("gpt-4o"),
      google: createGoogleGenerativeAI({ apiKey: "k", baseURL: url("google") })("gemini-3-pro"),
      compatible: vendor("compatible", "local"),
      mistral: vendor("mistral"),
      groq: vendor("groq"),
      xai: vendor("xai"),
      deepseek: vendor("deepseek"),
      bedrock: vendor("bedrock", "amazon-bedrock"),
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
