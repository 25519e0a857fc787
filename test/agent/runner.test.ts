import { expect, it } from "vitest";
import { z } from "zod";
import { createSession, MemorySessionStorage } from "../../src/agent.js";
import { memory } from "../../src/memory.js";
import { calls, collect, says, scripted } from "./mock-model.js";

it("streams text, stores the turn and sums usage", async () => {
  const model = scripted(says("Hello there"));
  const session = await createSession({ model, sessionStorage: memory() });
  await session.send("Hi");
  const events = await collect(session.receive());
  expect(events.map(({ type }) => type)).toEqual(["text", "text", "message", "stop"]);
  expect(session.getMessages()).toMatchObject([
    { role: "user", content: "Hi" },
    { role: "assistant", content: "Hello there" },
  ]);
  expect(session.getUsage()).toEqual({ input_tokens: 10, output_tokens: 5 });
});
it("x", async () => {
  const storage = new MemorySessionStorage();
  const model = scripted(calls(["a", "add", { x: 1 }], ["b", "add", { x: 2 }]), says("Done"));
  const add = {
    description: "",
    inputSchema: z.object({ x: z.number() }),
    execute: async ({ x }: { x: number }) => ({ y: x + 1 }),
  };
  const session = await createSession({
    model,
    sessionStorage: storage,
    tools: { add },
    context: [{ label: "memory" }],
    metadata: { a: 1 },
  });
  await session.send("Hi");
  await collect(session.receive());
  await session.session.appendContextBlock("memory", "xx");
  console.log(JSON.stringify(await storage.load(session.id), null, 1));
  const again = await createSession({ resume: session.id, sessionStorage: storage, context: [{ label: "memory" }] });
  console.log(JSON.stringify(again.state) === JSON.stringify(session.state), await again.session.freezeSystemPrompt());
});
