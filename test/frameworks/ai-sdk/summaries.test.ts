import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import type { LanguageModelV2 } from "@ai-sdk/provider";
import { MockLanguageModelV3 } from "ai/test";
import { MockLanguageModelV4 } from "ai-7/test";
import { expect, it } from "vitest";
import { Session } from "../../../packages/stemma/src/session.js";
import { createCompactFunction, type SummaryModel } from "../../../packages/stemma/src/utils/compaction-helpers.js";
import { memory } from "../../../packages/store/src/memory.js";

const SUMMARY = "They talked of pears.";
const tokens = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 };
const answer = {
  content: [{ type: "text" as const, text: SUMMARY }],
  finishReason: { unified: "stop" as const, raw: "stop" },
  usage: { inputTokens: tokens, outputTokens: { total: 1, text: 1, reasoning: 0 } },
  warnings: [],
};

const v2: LanguageModelV2 = {
  specificationVersion: "v2",
  provider: "of-old",
  modelId: "one",
  supportedUrls: {},
  doGenerate: async ({ prompt }) => {
    expect(prompt).toMatchObject([{ role: "user", content: [{ type: "text" }] }]);
    const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
    return { content: answer.content, finishReason: "stop", usage, warnings: [] };
  },
  doStream: () => Promise.reject(new RangeError("not asked")),
};

/** A provider's server: it gives `body` for any request that has the prompt as a user's text. */
const server = (body: object) => async (_url: unknown, request?: RequestInit) => {
  expect(JSON.parse(`${request?.body}`)).toMatchObject({ messages: [{ role: "user" }] });
  expect(`${request?.body}`).toContain("<<< conversation >>>");
  return Response.json(body);
};

const openai = createOpenAI({
  apiKey: "k",
  fetch: server({
    id: "1",
    created: 1,
    model: "one",
    choices: [{ index: 0, message: { role: "assistant", content: SUMMARY }, finish_reason: "stop" }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  }),
});

const anthropic = createAnthropic({
  apiKey: "k",
  fetch: server({
    type: "message",
    id: "1",
    model: "one",
    role: "assistant",
    content: [{ type: "text", text: SUMMARY }],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  }),
});

const models: Record<string, SummaryModel> = {
  "of version 2 of the specification": v2,
  "of version 3": new MockLanguageModelV3({ doGenerate: answer }),
  "of version 4": new MockLanguageModelV4({ doGenerate: answer }),
  "of OpenAI's package": openai.chat("one"),
  "of Anthropic's package": anthropic("one"),
};

for (const [name, summarize] of Object.entries(models)) {
  it(`summarises with a model ${name} as it is`, async () => {
    const session = Session.create(memory())
      .forSession("s")
      .onCompaction(createCompactFunction({ summarize }))
      .compactAfter(400);
    const failures: unknown[] = [];
    session.subscribe((event) => event.type === "cf_agent_session_error" && failures.push(event.error));
    const parts = [{ type: "text", text: "We talked of pears. ".repeat(5) }];
    for (let n = 1; n <= 20; n += 1) await session.appendMessage({ id: `${n}`, role: "user", parts });
    expect(failures).toEqual([]);
    expect((await session.getHistory()).flatMap((message) => message.parts.map(({ text }) => text))).toContain(SUMMARY);
  });
}
