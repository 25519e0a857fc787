// Talks with tools until it is killed, and says on its output what it was told is stored.
import { writeSync } from "node:fs";
import type { LanguageModelV3CallOptions } from "@ai-sdk/provider";
import {
  createSession,
  createSessionStorage,
  resumeSession,
  type SessionStorage,
} from "../../packages/stemma/src/agent.js";
import { assertAccepted } from "./accepted-prompt.js";
import { type Chunk, calls, says, scripted } from "./mock-model.js";
import { add } from "./tools.js";

const [kind = "", where = "", id = ""] = process.argv.slice(2);

function storageOf(): SessionStorage {
  if (kind === "file") return createSessionStorage("file", { directory: where });
  if (kind === "sqlite") return createSessionStorage("sqlite", { path: where });
  return createSessionStorage("redis", { url: where });
}

let steps = 0;
function answer({ prompt }: LanguageModelV3CallOptions): ReadableStream<Chunk> {
  assertAccepted(prompt);
  steps += 1;
  const [a, b] = [`${process.pid}-${steps}-a`, `${process.pid}-${steps}-b`];
  const asked = prompt.at(-1)?.role === "user";
  const step = asked ? calls([a, "slow", { x: steps }], [b, "slow", { x: steps }]) : says("So it is.");
  return new ReadableStream({
    start(controller) {
      for (const chunk of step) controller.enqueue(chunk);
      controller.close();
    },
  });
}

const slow = {
  ...add,
  execute: async ({ x }: { x: number }) => {
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 10));
    return { sum: x + 1 };
  },
};

const say = (acknowledged: object) => writeSync(1, `${JSON.stringify(acknowledged)}\n`);

const sessionStorage = storageOf();
const model = scripted(...Array.from({ length: 10_000 }, () => answer));
const options = { model, tools: { slow }, sessionStorage, settings: { maxRetries: 0 } };
const known = (await sessionStorage.list()).includes(id);
const session = known ? await resumeSession(id, options) : await createSession({ ...options, id });
say({ resumed: known });
for (let turn = 0; ; turn += 1) {
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
