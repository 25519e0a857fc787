import { convertToModelMessages, generateText, type ToolSet, tool, type UIMessage } from "ai";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { lint, repair } from "../../src/ai-sdk.js";
import type { SessionMessage } from "../../src/model/message.js";
import { histories } from "./histories.js";
import { type StrictServers, strictServers } from "./strict-servers.js";

const PROVIDERS = ["anthropic", "openai", "chat", "google", "compatible"] as const;
type Provider = (typeof PROVIDERS)[number];

const tools: ToolSet = { add: tool({ inputSchema: z.looseObject({}), execute: () => "done" }) };

let servers: StrictServers;
beforeAll(async () => {
  servers = await strictServers();
  (globalThis as { AI_SDK_LOG_WARNINGS?: boolean }).AI_SDK_LOG_WARNINGS = false;
});
afterAll(() => servers.close());

async function send(messages: SessionMessage[], provider: Provider): Promise<string> {
  const { text } = await generateText({
    model: servers.models[provider] as never,
    messages: await convertToModelMessages(messages as UIMessage[], { tools }),
    tools,
    allowSystemInMessages: true,
    maxRetries: 0,
  });
  return text;
}

describe("repair of any history", () => {
  it.each(PROVIDERS)(
    "is accepted by %s, lints clean and stays as it is",
    async (provider) => {
      const model = servers.models[provider] as never;
      await fc.assert(
        fc.asyncProperty(histories, async (messages) => {
          const before = structuredClone(messages);
          const mended = repair(messages, model, { tools });
          expect(messages).toEqual(before);
          expect(lint(mended, model, { tools })).toEqual([]);
          expect(repair(mended, model, { tools })).toBe(mended);
          expect(lint(messages, model, { tools }).length === 0).toBe(mended === messages);
          expect(await send(mended, provider)).toBe("Fine");
        }),
        { numRuns: Number(process.env.STEMMA_REPAIRS ?? 200) },
      );
    },
    120_000,
  );
});
