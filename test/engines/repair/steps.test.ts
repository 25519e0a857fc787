// What a tool gave is sent in the next step of its turn as it is sent in every later turn.
import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createSession } from "../../../packages/stemma/src/agent.js";
import { chatHandler } from "../../../packages/stemma/src/ai-sdk.js";
import { SessionManager } from "../../../packages/stemma/src/index.js";
import { memory } from "../../../packages/store/src/memory.js";
import { type Prompt, scriptedModel } from "../../ai-sdk/scripted-model.js";
import { calls, collect, says, scripted } from "../../runner/mock-model.js";

const OUTPUTS: [string, unknown][] = [
  ["5 MB of text", "word ".repeat(1_000_000)],
  ["5 MB in an object", { lines: ["word ".repeat(1_000_000)], end: true }],
  ["an empty text", ""],
  ["a short text", "fine"],
];

const resultsOf = (prompt: Prompt) => prompt.filter(({ role }) => role === "tool").map(({ content }) => content);

/** Holds that the second request and the third show a model the same result, and one that it takes. */
function expectAlike(prompts: readonly Prompt[]): void {
  const [, inTurn = [], later] = prompts.map(resultsOf);
  expect(inTurn).toHaveLength(1);
  expect(JSON.stringify(inTurn).length).toBeLessThan(1_000_000);
  expect(JSON.stringify(inTurn)).not.toContain('"value":""');
  expect(later).toEqual(inTurn);
}

const read = (output: unknown) => tool({ inputSchema: z.object({}), execute: async () => output });

describe("a step of a turn", () => {
  it.each(OUTPUTS)("shows %s of a tool as later turns do, in a chat", async (_name, output) => {
    const { model, prompts } = scriptedModel((prompt) => (resultsOf(prompt).length === 0 ? { call: "read" } : "Done."));
    const handler = chatHandler({
      sessions: SessionManager.create(memory()),
      model,
      tools: { read: read(output) },
      authenticate: () => ({ userId: "ada" }),
    });
    for (const id of ["q1", "q2"]) {
      const message = { id, role: "user", parts: [{ type: "text", text: "Read it." }] };
      const body = JSON.stringify({ id: "chat", message });
      await (await handler(new Request("http://chat.example/api/chat", { method: "POST", body }))).text();
    }
    expectAlike(prompts);
  });

  it.each(OUTPUTS)("shows %s of a tool as later turns do, in the runner", async (_name, output) => {
    const model = scripted(calls(["c", "read", {}]), says("Done."), says("Yes."));
    const agent = await createSession({ model, sessionStorage: memory(), tools: { read: read(output) } });
    for (const said of ["Read it.", "And now?"]) {
      await agent.send(said);
      await collect(agent.receive());
    }
    expectAlike(model.doStreamCalls.map(({ prompt }) => prompt));
  });
});
