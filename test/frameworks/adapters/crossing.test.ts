import { describe, expect, it } from "vitest";
import { findExportFormat } from "../../../packages/formats/src/export/export-formats.js";
import { toSDKMessages } from "../../../packages/stemma/src/agent.js";
import { claudeSessionStore } from "../../../packages/stemma/src/claude.js";
import { StemmaChatMessageHistory } from "../../../packages/stemma/src/langchain.js";
import { openaiAgentsSession } from "../../../packages/stemma/src/openai-agents.js";
import { Session, type SessionMessagePart } from "../../../packages/stemma/src/session.js";
import type { SessionInfo } from "../../../packages/store/src/contract/store.js";
import { memory } from "../../../packages/store/src/memory.js";
import { ADAPTERS } from "../../adapters/crossing-adapters.js";
import { keyOf, newChat } from "../../adapters/crossing-claude.js";
import { CONVERSATION, type Said } from "../../adapters/crossing-said.js";
import { collect } from "../../cli/read.js";

// docs/adapters.md has the table of what this finds.
describe("a conversation crosses over", () => {
  const pairs = ADAPTERS.flatMap((writer) => ADAPTERS.map((reader) => ({ writer, reader })));

  it.each(pairs.map(({ writer, reader }) => [writer.name, reader.name, writer, reader] as const))(
    "from %s to %s",
    async (_from, _to, writer, reader) => {
      const store = memory();
      const chat = newChat();
      await writer.write(store, chat, CONVERSATION);
      expect(await reader.read(store, chat)).toEqual(CONVERSATION);
      await store.close();
    },
  );

  it("through all of them and back", async () => {
    const store = memory();
    let said: readonly Said[] = CONVERSATION;
    for (const [index, adapter] of [...ADAPTERS, ...[...ADAPTERS].reverse()].entries()) {
      const chat = newChat();
      await adapter.write(store, chat, said);
      const reader = ADAPTERS[(index + 1) % ADAPTERS.length] as (typeof ADAPTERS)[number];
      said = await reader.read(store, chat);
    }
    expect(said).toEqual(CONVERSATION);
    await store.close();
  });

  it("while all of them write to one session in turn", async () => {
    const store = memory();
    const chat = newChat();
    const [first, ...others] = ADAPTERS.filter(({ isWhole }) => !isWhole);
    await first?.write(store, chat, CONVERSATION);
    const all: Said[] = [...CONVERSATION];
    for (const [index, { write }] of others.entries()) {
      const more: Said[] = [
        { user: `More, ${index}?` },
        { call: `more_${index}`, tool: "weather", input: {}, output: { degrees: index } },
        { answer: "So it is." },
      ];
      await write(store, chat, more);
      all.push(...more);
    }
    for (const { name, read } of ADAPTERS) expect([name, await read(store, chat)]).toEqual([name, all]);
    await store.close();
  });
});

describe("what does not cross over as it is", () => {
  const pending = { type: "tool-weather", toolCallId: "c1", state: "input-available", input: {} };
  const failed = { ...pending, state: "output-error", errorText: "no signal" };
  const read = async (...parts: SessionMessagePart[]) => {
    const store = memory();
    const session = Session.create(store).forSession(newChat());
    await session.appendMessage({ id: "a", role: "assistant", parts });
    const info = (await store.sessions.get(session.id)) as SessionInfo;
    const written = async (format: string) => (await collect(findExportFormat(format).write(store, info))).join("");
    const forms = {
      agents: JSON.stringify(await openaiAgentsSession(session).getItems()),
      langchain: JSON.stringify(await new StemmaChatMessageHistory(session).getMessages()),
      runner: JSON.stringify(toSDKMessages(await session.getHistory())),
      claude: JSON.stringify(await claudeSessionStore(store).load(keyOf(session.id))),
      openai: await written("openai"),
      pi: await written("pi"),
    };
    await store.close();
    return forms;
  };

  it("an error is an error where the framework knows of errors, else its text", async () => {
    const forms = await read(failed);
    for (const form of Object.values(forms)) expect(form).toContain("no signal");
    expect(forms.langchain).toContain('"status":"error"');
    for (const form of [forms.runner, forms.claude]) expect(form).toContain('"is_error":true');
    expect(forms.pi).toContain('"isError":true');
  });

  it("a call without a result has one that says so, where it needs one", async () => {
    const forms = await read(pending);
    for (const form of [forms.agents, forms.langchain, forms.claude])
      expect(form).toContain("Interrupted: this call was cut off");
    for (const form of [forms.runner, forms.openai, forms.pi]) expect(form).not.toContain("Interrupted");
  });

  it("reasoning is left out where a model would refuse it", async () => {
    const forms = await read({ type: "reasoning", text: "Hmm." }, { type: "text", text: "Yes." });
    for (const form of [forms.agents, forms.langchain, forms.claude, forms.openai]) expect(form).not.toContain("Hmm.");
    for (const form of [forms.runner, forms.pi]) expect(form).toContain("Hmm.");
  });

  it("a result apart from its call is told with it", async () => {
    const store = memory();
    const session = Session.create(store).forSession("chat");
    await session.appendAll([
      { id: "a", role: "assistant", parts: [{ type: "tool_use", id: "c1", name: "weather", input: { city: "Oslo" } }] },
      { id: "b", role: "user", parts: [{ type: "tool_result", tool_use_id: "c1", content: "mild" }] },
      { id: "c", role: "user", parts: [{ type: "tool_result", tool_use_id: "c2", content: "lost" }] },
    ]);
    expect(toSDKMessages(await session.getHistory()).map(({ content }) => content)).toEqual([
      [{ type: "tool_use", id: "c1", name: "weather", input: { city: "Oslo" } }],
      [{ type: "tool_result", tool_use_id: "c1", content: "mild" }],
      [{ type: "tool_result", tool_use_id: "c2", content: "lost" }],
    ]);
    const items = await openaiAgentsSession(session).getItems();
    expect(items.map((item) => [item.type, (item as { callId: string }).callId])).toEqual([
      ["function_call", "c1"],
      ["function_call_result", "c1"],
      ["function_call", "c2"],
      ["function_call_result", "c2"],
    ]);
    const messages = await new StemmaChatMessageHistory(session).getMessages();
    expect(messages.map((message) => [message.type, message.text])).toEqual([
      ["ai", ""],
      ["tool", "mild"],
      ["ai", ""],
      ["tool", "lost"],
    ]);
    await store.close();
  });
});
