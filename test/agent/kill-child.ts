// Talks with tools until it is killed, and says on its output what it was told is stored.
import { writeSync } from "node:fs";
import type { LanguageModelV3Prompt } from "@ai-sdk/provider";
import { createSession, createSessionStorage, resumeSession, type SessionStorage } from "../../src/agent.js";
import { calls, says, scripted } from "./mock-model.js";
import { add } from "./tools.js";

const [kind = "", where = "", id = "", mode = ""] = process.argv.slice(2);

function storageOf(): SessionStorage {
  if (kind === "file") return createSessionStorage("file", { directory: where });
  if (kind === "sqlite") return createSessionStorage("sqlite", { path: where });
  return createSessionStorage("redis", { url: where });
}

/** Throws when a call has no result, or a result no call: what a provider would refuse. */
function assertAccepted(prompt: LanguageModelV3Prompt): void {
  const open = new Set<string>();
  for (const message of prompt) {
    if (message.role !== "tool" && open.size > 0) throw new RangeError(`No result of ${[...open].join(", ")}.`);
    if (typeof message.content === "string") continue;
    for (const part of message.content) {
      if (part.type === "tool-call") open.add(part.toolCallId);
      if (part.type === "tool-result" && !open.delete(part.toolCallId))
        throw new RangeError(`No call ${part.toolCallId}.`);
    }
  }
  if (open.size > 0) throw new RangeError(`No result of ${[...open].join(", ")}.`);
}

let steps = 0;
const model = scripted(
  ...Array.from({ length: 10_000 }, () => (options: { prompt: LanguageModelV3Prompt }) => {
    assertAccepted(options.prompt);
    steps += 1;
    const [a, b] = [`${process.pid}-${steps}-a`, `${process.pid}-${steps}-b`];
    const step =
      options.prompt.at(-1)?.role === "user"
        ? calls([a, "slow", { x: steps }], [b, "slow", { x: steps }])
        : says("So it is.");
    return new ReadableStream({
      start(controller) {
        for (const chunk of step) controller.enqueue(chunk);
        controller.close();
      },
    });
  }),
);

const slow = {
  ...add,
  execute: async ({ x }: { x: number }) => {
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 10));
    return { sum: x + 1 };
  },
};

const say = (acknowledged: object) => writeSync(1, `${JSON.stringify(acknowledged)}\n`);

const sessionStorage = storageOf();
const options = { model, tools: { slow }, sessionStorage, settings: { maxRetries: 0 } };
const known = (await sessionStorage.list()).includes(id);
const session = known ? await resumeSession(id, options) : await createSession({ ...options, id });
say({ resumed: known });
for (let turn = 0; mode === "once" ? turn < 1 : true; turn += 1) {
  const question = `Question ${turn} of ${process.pid}`;
  await session.send(question);
  say({ sent: question });
  for await (const event of session.receive()) {
    if (event.type === "tool_use") say({ use: event.id });
    if (event.type === "tool_result") say({ result: event.tool_use_id, content: event.content });
    if (event.type === "message") say({ message: event.message.id });
    if (event.type === "error") say({ failed: event.error.message });
  }
}
process.exit(0);
