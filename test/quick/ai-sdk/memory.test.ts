import { stepCountIs, streamText, ToolLoopAgent, tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { sessionMemory } from "../../../packages/stemma/src/ai-sdk.js";
import { Session } from "../../../packages/stemma/src/session.js";
import { memory } from "../../../packages/store/src/memory.js";
import { scriptedModel } from "../../ai-sdk/scripted-model.js";
import { textMessage } from "../../helpers/messages.js";

// A session, its twin in another process, and a tool while which the twin writes.
function remembering() {
  const store = memory();
  const open = () => Session.create(store).forSession("s").withContext("memory").withCachedPrompt();
  const session = open();
  const brew = tool({
    description: "Brews.",
    inputSchema: z.object({}),
    execute: async () => {
      await open().appendContextBlock("memory", "Takes no sugar.");
      return "brewed";
    },
  });
  const { model, prompts } = scriptedModel((prompt) => {
    const steps = prompt.filter(({ role }) => role === "tool").length;
    return [{ call: "brew" }, { call: "set_context", input: { label: "memory", content: "Mine." } }, "Done."][
      steps
    ] as never;
  });
  return { session, brew, model, prompts };
}

const text = (message: unknown) => JSON.stringify(message);

describe("sessionMemory", () => {
  it.each([
    [
      "streamText",
      async ({ session, brew, model }: ReturnType<typeof remembering>) => {
        const turn = await sessionMemory(session, { model, tools: { brew } });
        return streamText({ model, ...turn, stopWhen: stepCountIs(5) }).text;
      },
    ],
    [
      "a ToolLoopAgent",
      async ({ session, brew, model }: ReturnType<typeof remembering>) => {
        const { messages, ...turn } = await sessionMemory(session, { model, tools: { brew } });
        const agent = new ToolLoopAgent({ model, ...turn });
        return (await agent.stream({ messages })).text;
      },
    ],
  ])("gives %s what the session remembers, and tells between its steps what others write", async (_name, ask) => {
    const all = remembering();
    const { session, prompts } = all;
    await session.replaceContextBlock("memory", "Their name is Ada.");
    await session.appendMessage(textMessage("u1", "Tea, please."));
    expect(await ask(all)).toBe("Done.");
    const [first, second, third] = prompts;
    expect(first?.[0]).toMatchObject({ role: "system", content: expect.stringContaining("Their name is Ada.") });
    expect(text(first)).not.toContain("no sugar");
    expect(second?.at(-1)).toMatchObject({ role: "user" });
    expect(text(second?.at(-1))).toContain("> Takes no sugar.");
    // It stays at its place, and what the model wrote itself is not told.
    expect(third?.slice(0, second?.length)).toEqual(second);
    expect(third?.at(-1)?.role).toBe("tool");
  });

  it("mends what the model's provider would refuse", async () => {
    const session = Session.create(memory());
    const call = { type: "tool-brew", toolCallId: "t1", state: "input-available", input: {} };
    await session.appendAll([
      textMessage("u1", "Tea, please."),
      { id: "a1", role: "assistant", parts: [call, { type: "text", text: " " }] },
      textMessage("u2", "Well?"),
    ]);
    const { messages, system } = await sessionMemory(session, { model: "anthropic" });
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user"]);
    expect(system).toBe(undefined);
  });
});
