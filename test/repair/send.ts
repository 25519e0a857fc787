import { convertToModelMessages, generateText, type LanguageModel, type ToolSet, tool, type UIMessage } from "ai";
import { afterAll, beforeAll } from "vitest";
import { z } from "zod";
import type { SessionMessage } from "../../packages/model/src/messages/message.js";
import { type StrictServers, strictServers } from "./strict-servers.js";

export const tools: ToolSet = { add: tool({ inputSchema: z.looseObject({}), execute: () => "done" }) };

let servers: StrictServers;

/** Starts the strict servers for the tests of a file. */
export function startStrictServers(): void {
  beforeAll(async () => {
    servers = await strictServers();
    (globalThis as { AI_SDK_LOG_WARNINGS?: boolean }).AI_SDK_LOG_WARNINGS = false;
  });
  afterAll(() => servers.close());
}

/** The model of a strict server, by the provider that it stands for. */
export function modelOf(provider: string): LanguageModel {
  return servers.models[provider] as LanguageModel;
}

/** Sends a history to a strict server. Gives its answer; fails as the server refuses. */
export async function send(messages: SessionMessage[], provider: string): Promise<string> {
  const { text } = await generateText({
    model: modelOf(provider),
    messages: await convertToModelMessages(messages as UIMessage[], { tools }),
    tools,
    allowSystemInMessages: true,
    maxRetries: 0,
  });
  return text;
}
