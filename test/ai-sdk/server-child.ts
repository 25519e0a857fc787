// A chat server in a process of its own: node server-child.mjs <database> <lease>. Prints its URL, and each prompt that a
// provider would refuse. Stops when its input ends.
import { type ToolSet, tool } from "ai";
import { SessionManager } from "stemma";
import { chatHandler } from "stemma/ai-sdk";
import { sqlite } from "stemma/sqlite";
import { z } from "zod";
import { assertAccepted } from "../runner/accepted-prompt.js";
import { endsWithResults, lastUserText, type Prompt, type Say, scriptedModel } from "./scripted-model.js";
import { serve } from "./server.js";

const [database = "", lease = "1000"] = process.argv.slice(2);

const tools: ToolSet = {
  count: tool({ inputSchema: z.object({}), execute: async () => "counted" }),
  remove: tool({ inputSchema: z.object({}), needsApproval: true, execute: async () => "removed" }),
  ask: tool({ inputSchema: z.object({}) }),
};

function check(prompt: Prompt): void {
  try {
    assertAccepted(prompt);
    if (prompt.at(-1)?.role === "assistant") throw new RangeError("It ends with the assistant.");
    if (prompt.some(({ content }) => content.length === 0)) throw new RangeError("A message is empty.");
  } catch (error) {
    console.log(`refused: ${(error as Error).message} ${JSON.stringify(prompt)}`);
  }
}

function script(prompt: Prompt): Say | readonly Say[] {
  check(prompt);
  const text = lastUserText(prompt);
  const answer: Say = { slow: `This is for ${text} .`, pause: 3 };
  if (text.includes("fails") && Math.random() < 0.5) return { fail: "overloaded", after: "So far" };
  const called = (["count", "remove", "ask"] as const).find((name) => text.includes(name));
  return called === undefined || endsWithResults(prompt) ? answer : ["Let me see.", { call: called }];
}

// Prompts of several processes name their calls alike, so a call has a name of its own.
const { model } = scriptedModel(script, crypto.randomUUID());
const handler = chatHandler({
  sessions: SessionManager.create(sqlite(database)).withContext("memory").withCachedPrompt(),
  model,
  tools,
  lease: Number(lease),
  authenticate: (request) => ({ userId: request.headers.get("authorization") ?? "" }),
  onError: (error) => {
    if (!/overloaded/.test(String(error))) console.log(`error: ${error instanceof Error ? error.stack : error}`);
    return "It failed.";
  },
});
const { url } = await serve(handler);
console.log(`url: ${url}`);
process.stdin.on("end", () => process.exit()).resume();
