// Each rule: what a provider refuses, and what becomes of it.
import { createRequire } from "node:module";
import { describe, expect, it } from "vitest";
import type { SessionMessage, SessionMessagePart } from "../../../packages/model/src/messages/message.js";
import { type LintRule, lint, repair } from "../../../packages/stemma/src/ai-sdk.js";
import { modelOf, send, startStrictServers, tools } from "../../repair/send.js";

const MAJOR = Number.parseInt(createRequire(import.meta.url)("ai/package.json").version, 10);

startStrictServers();

const message = (role: string, ...parts: object[]): SessionMessage => {
  return { id: `${role}-${JSON.stringify(parts).length}`, role, parts: parts as SessionMessagePart[] };
};
const text = (said: string, more: object = {}) => ({ type: "text", text: said, ...more });
const user = (...parts: object[]) => message("user", ...parts);
const answer = (...parts: object[]) => message("assistant", ...parts);
const call = (more: object) => ({ type: "tool-add", toolCallId: "c", input: {}, ...more });
const done = { state: "output-available", output: 3 };
const thought = (providerMetadata: object) => ({ type: "reasoning", text: "Hm", providerMetadata });
const signed = thought({ anthropic: { signature: "s" } });
const item = (itemId: string) => ({ providerMetadata: { openai: { itemId } } });
const step = { type: "step-start" };
const image = (base64: string) => ({ type: "file", mediaType: "image/png", url: `data:image/png;base64,${base64}` });
const pdf = (filename: string) => {
  return { type: "file", mediaType: "application/pdf", filename, url: "data:application/pdf;base64,aGk=" };
};

const ask = user(text("Hi"));
const more = user(text("And then?"));

interface Example {
  readonly provider: string;
  readonly messages: SessionMessage[];
  /** The parts of the message in question, or the roles, as they are sent. */
  readonly parts?: object[];
  readonly roles?: string[];
}

const RULES: Record<LintRule, Example> = {
  "unknown-role": {
    provider: "openai",
    messages: [ask, message("developer", text("Be brief")), more],
    roles: ["user", "user"],
  },
  "unreadable-part": {
    provider: "openai",
    messages: [ask, answer(text("Well"), { type: "tool-invocation", toolInvocation: {} }), more],
    parts: [text("Well")],
  },
  "unreadable-file": {
    provider: "anthropic",
    messages: [
      ask,
      user({ type: "file", mediaType: "audio/wav", filename: "a.wav", url: "data:audio/wav;base64,aGk=" }),
    ],
    parts: [text('[The file "a.wav" (audio/wav) cannot be shown to this model.]')],
  },
  "large-file": {
    provider: "anthropic",
    messages: [ask, user(image("A".repeat(5_243_600)))],
    parts: [text("[The file (image/png) cannot be shown to this model.]")],
  },
  "too-many-files": {
    provider: "mistral",
    messages: [ask, answer(text("Yes?")), user(...Array.from({ length: 9 }, () => image("aGk=")), text("Look"))],
    roles: ["user", "assistant", "user"],
  },
  "file-name": {
    provider: "bedrock",
    messages: [ask, answer(text("Yes?")), user(text("Read"), pdf("Größe_1.pdf"), pdf("a.pdf"), pdf("A.pdf"))],
    roles: ["user", "assistant", "user"],
  },
  "file-without-text": {
    provider: "bedrock",
    messages: [answer(text("Yes?")), user(pdf("a.pdf"))],
    parts: [text("Yes?")],
  },
  "malformed-text": {
    provider: "anthropic",
    messages: [ask, answer(text("half \ud83c"), call({ ...done, input: { "k\udf50": "\0" } })), more],
    parts: [text("half \ufffd"), call({ ...done, input: { "k\ufffd": "\ufffd" } })],
  },
  "long-text": {
    provider: "openai",
    messages: [ask, answer(text("x".repeat(10_485_761))), more],
    parts: [{ type: "text", text: expect.stringContaining("truncated") }],
  },
  "long-output": {
    provider: "openai",
    messages: [ask, answer(call({ ...done, output: "word ".repeat(2_500_000) })), more],
    parts: [{ output: expect.stringContaining("truncated") }],
  },
  "empty-output": {
    provider: "bedrock",
    messages: [ask, answer(call({ ...done, output: "" })), more],
    parts: [{ output: "(no output)" }],
  },
  "item-id": {
    provider: "openai",
    messages: [ask, answer(thought({ openai: { itemId: "rs_1" } }), text("A", item(`msg_${"x".repeat(61)}`))), more],
    parts: [{ type: "reasoning" }, text("A")],
  },
  "unanswered-result": {
    provider: "mistral",
    messages: [ask, answer(call({ ...done, toolCallId: "abcdefghi" })), more],
    parts: [call({ ...done, toolCallId: "abcdefghi" }), step, { type: "text" }],
  },
  "blank-text": {
    provider: "anthropic",
    messages: [ask, answer(text(" \n"), call(done)), more],
    parts: [call(done)],
  },
  "empty-message": { provider: "google", messages: [ask, user({ type: "data-note", data: 1 })], roles: ["user"] },
  "unfinished-call": {
    provider: "openai",
    messages: [ask, answer(call({ state: "input-available" })), more],
    parts: [{ state: "output-error", errorText: expect.stringContaining("cut off") }],
  },
  "unfinished-approval": {
    provider: "openai",
    messages: [ask, answer(call({ state: "approval-requested", approval: { id: "p" } })), more],
    parts: [{ state: "output-error", errorText: expect.stringContaining("did not run") }],
  },
  "orphaned-call": {
    provider: "openai",
    messages: [ask, answer({ type: "tool-call", toolCallId: "c", toolName: "add", args: { x: 1 } }), more],
    parts: [{ type: "dynamic-tool", toolName: "add", input: { x: 1 }, state: "output-error" }],
  },
  "orphaned-result": {
    provider: "openai",
    messages: [ask, answer({ type: "tool-result", toolCallId: "c", toolName: "add", result: 3 }), more],
    parts: [{ type: "dynamic-tool", toolName: "add", input: {}, state: "output-available", output: 3 }],
  },
  "foreign-call": {
    provider: "anthropic",
    messages: [ask, answer(call({ ...done, toolCallId: "ws_1", providerExecuted: true })), more],
    parts: [call({ ...done, toolCallId: "ws_1" })],
  },
  "call-id": {
    provider: "anthropic",
    messages: [ask, answer(call({ ...done, toolCallId: "a:b" })), more],
    parts: [call({ ...done, toolCallId: "a_b" })],
  },
  "duplicate-call-id": {
    provider: "anthropic",
    messages: [ask, answer(call(done), step, call({ ...done, output: 4 })), more],
    parts: [call(done), step, call({ ...done, toolCallId: "c_2", output: 4 })],
  },
  "tool-name": {
    provider: "openai",
    messages: [ask, answer(call({ ...done, type: "tool-fs.read" })), more],
    parts: [call({ ...done, type: "tool-fs_read" })],
  },
  "call-input": {
    provider: "anthropic",
    messages: [ask, answer(call({ ...done, input: [1] })), more],
    parts: [call({ ...done, input: { value: [1] } })],
  },
  "empty-error": {
    provider: "anthropic",
    messages: [ask, answer(call({ state: "output-error", errorText: "" })), more],
    parts: [call({ state: "output-error", errorText: "The tool failed." })],
  },
  "duplicate-approval-id": {
    provider: "openai",
    messages: [
      ask,
      answer(
        call({ state: "approval-responded", approval: { id: "p", approved: true } }),
        call({ toolCallId: "d", state: "approval-responded", approval: { id: "p", approved: true } }),
      ),
    ],
    parts: [{ state: "approval-responded" }, { state: "output-error" }],
  },
  "unsigned-reasoning": {
    provider: "anthropic",
    messages: [ask, answer(thought({ openai: { itemId: "rs_1" } })), more],
    roles: ["user", "user"],
  },
  "dangling-reasoning": {
    provider: "anthropic",
    messages: [ask, answer(signed, text("So"), signed), more],
    parts: [signed, text("So")],
  },
  "duplicate-item": {
    provider: "openai",
    messages: [
      ask,
      answer(thought({ openai: { itemId: "rs_1" } }), text("A", item("msg_1")), text("B", item("msg_1"))),
      more,
    ],
    parts: [{ type: "reasoning" }, text("A", item("msg_1")), text("B")],
  },
  "unfinished-item": {
    provider: "openai",
    messages: [
      ask,
      answer(thought({ openai: { itemId: "rs_1" } }), text("A", { ...item("msg_lost"), state: "streaming" })),
      more,
    ],
    parts: [{ type: "reasoning" }, text("A", { state: "streaming" })],
  },
  "late-system-message": {
    provider: "google",
    messages: [ask, answer(text("Well")), message("system", text("The user is away"))],
    roles: ["user", "assistant", "user"],
  },
  "consecutive-messages": { provider: "compatible", messages: [ask, more], roles: ["user"] },
  "first-message": {
    provider: "anthropic",
    messages: [answer(text("Welcome")), ask],
    roles: ["user", "assistant", "user"],
  },
  "last-message": {
    provider: "anthropic",
    messages: [ask, answer(text("Half"))],
    roles: ["user", "assistant", "user"],
  },
};

describe("a rule", () => {
  it.each(Object.entries(RULES))("%s", async (rule, { provider, messages, parts, roles }) => {
    const model = modelOf(provider);
    // Version 7 leaves out some of it by itself.
    if (MAJOR === 6) await expect(send(messages, provider)).rejects.toThrow();
    expect(lint(messages, model, { tools }).map((finding) => finding.rule)).toContain(rule);
    const mended = repair(messages, model, { tools });
    if (parts !== undefined) expect(mended[1]?.parts).toMatchObject(parts);
    if (parts !== undefined) expect(mended[1]?.parts).toHaveLength(parts.length);
    if (roles !== undefined) expect(mended.map(({ role }) => role)).toEqual(roles);
    expect(await send(mended, provider)).toBe("Fine");
  });

  it("names the message and the part", () => {
    const messages = [ask, answer(text("A"), text(" "), call({ ...done, toolCallId: "a:b" })), more];
    expect(lint(messages, "anthropic")).toEqual([
      { rule: "blank-text", messageId: messages[1]?.id, partIndex: 1, message: expect.any(String) },
      { rule: "call-id", messageId: messages[1]?.id, partIndex: 2, message: expect.any(String) },
    ]);
  });
});

/** What each provider's own model left, with its tools, its thoughts and a tool that the provider ran. */
const VALID: Record<string, SessionMessage[]> = {
  anthropic: [
    message("system", text("Be brief")),
    ask,
    answer(step, signed, text("Let me look."), call({ ...done, toolCallId: "toolu_1" }), step, text("Three.")),
    more,
    answer(step, {
      type: "tool-web_search",
      toolCallId: "srvtoolu_1",
      state: "output-available",
      providerExecuted: true,
      input: { query: "x" },
      output: [{ type: "web_search_result", url: "https://x.y", title: "X", pageAge: null, encryptedContent: "e" }],
    }),
    ask,
    more,
    answer(call({ toolCallId: "toolu_2", state: "approval-responded", approval: { id: "p", approved: true } })),
  ],
  openai: [
    answer(text("Welcome")),
    ask,
    answer(step, thought({ openai: { itemId: "rs_1" } }), call({ ...done, toolCallId: "call_1" }), step, {
      ...text("Three."),
      ...item("msg_1"),
    }),
    more,
    answer(text("Half")),
  ],
  chat: [ask, answer(step, call({ ...done, toolCallId: "call_1" }), step, text("Three.")), more],
  google: [
    ask,
    answer(step, call({ ...done, callProviderMetadata: { google: { thoughtSignature: "s" } } }), step, text("Three.")),
    more,
  ],
  compatible: [ask, answer(step, { type: "reasoning", text: "Hm" }, call(done), step, text("Three.")), more],
};

describe("a history that the provider takes", () => {
  it.each(Object.entries(VALID))("of %s stays the same array", async (provider, messages) => {
    const model = modelOf(provider);
    expect(await send(messages, provider)).toBe("Fine");
    expect(lint(messages, model, { tools })).toEqual([]);
    expect(repair(messages, model, { tools })).toBe(messages);
    // Where it goes on, what came before stays the same objects, but for an approval that nobody waits for any more.
    const cut = [...messages, answer(call({ toolCallId: "new", state: "input-streaming" }))];
    const mended = repair(cut, model, { tools });
    const kept = provider === "anthropic" ? messages.slice(0, -1) : messages;
    for (const [index, one] of kept.entries()) expect(mended[index]).toBe(one);
    expect(await send(mended, provider)).toBe("Fine");
  });

  it("of another provider is repaired for any", async () => {
    const all = Object.values(VALID).flat();
    const unique = all.map((one, index) => ({ ...one, id: `m${index}` }));
    for (const provider of Object.keys(VALID)) {
      expect(await send(repair(unique, modelOf(provider), { tools }), provider)).toBe("Fine");
    }
  });
});

describe("the options", () => {
  it("keep a message whose data part is made visible", () => {
    const messages = [user({ type: "data-note", data: "Look" })];
    const convertDataPart = ({ data }: { data: string }) => ({ type: "text" as const, text: data });
    expect(repair(messages, "anthropic", { convertDataPart })).toBe(messages);
    expect(repair(messages, "anthropic")).toMatchObject([{ id: "repair_first" }]);
  });

  it("keep the name of a tool that the request has", () => {
    const messages = [ask, answer(call({ ...done, type: "tool-fs.read" })), more];
    expect(repair(messages, "local", { tools: { "fs.read": {} } })).toBe(messages);
  });

  it("answer an approved call of a tool that is not there any more", () => {
    const approved = call({ state: "approval-responded", approval: { id: "p", approved: true } });
    expect(repair([ask, answer(approved)], "openai", { tools: {} })[1]?.parts[0]).toMatchObject({
      state: "output-error",
    });
    expect(lint([ask, answer(approved)], "openai")).toEqual([]);
  });
});

describe("what a fuzzer found", () => {
  const { filename: _name, ...unnamed } = pdf("a.pdf");

  it.each<[string, SessionMessage[]]>([
    ["two documents without a name", [user(text("Read"), unnamed, unnamed)]],
    ["two whose type stands in their URL alone", [user({ ...unnamed, mediaType: "image/png" }, unnamed)]],
    [
      "one without a name after one with the name that it would get",
      [user(text("Read"), pdf("document.pdf"), unnamed)],
    ],
    [
      "an answered approval whose reason is empty",
      [ask, answer(call({ state: "approval-responded", approval: { id: "p", approved: true, reason: "" } }))],
    ],
  ])("%s is mended for Bedrock", async (_, messages) => {
    const model = modelOf("bedrock");
    if (MAJOR === 6) await expect(send(messages, "bedrock")).rejects.toThrow();
    const mended = repair(messages, model, { tools });
    expect(lint(mended, model, { tools })).toEqual([]);
    expect(repair(mended, model, { tools })).toBe(mended);
    expect(await send(mended, "bedrock")).toBe("Fine");
  });

  it("leaves one document without a name as it is", () => {
    const messages = [user(text("Read"), unnamed)];
    expect(repair(messages, "amazon-bedrock")).toBe(messages);
  });
});

describe("the provider", () => {
  it.each([
    ["anthropic.messages", "Anthropic"],
    ["vertex.anthropic.messages", "Anthropic"],
    ["amazon-bedrock", "Amazon Bedrock"],
    ["bedrock.anthropic.messages", "Anthropic"],
    ["anthropic/claude-opus-4-6", "Anthropic"],
    ["openai", "OpenAI"],
    ["openai.responses", "OpenAI"],
    ["azure.responses", "OpenAI"],
    ["openai.chat", "OpenAI's chat completions"],
    ["google.generative-ai", "Google"],
    ["google.vertex.chat", "Google"],
    ["openai-compatible", "OpenAI-compatible servers"],
    ["openrouter.chat", "OpenAI-compatible servers"],
    ["deepseek.chat", "DeepSeek"],
    ["mistral.chat", "Mistral"],
    ["groq.chat", "Groq"],
    ["xai.responses", "xAI"],
    [{ provider: "openrouter.chat", modelId: "mistralai/devstral-medium" }, "Mistral"],
    [{ provider: "gateway", modelId: "google/gemini-3-pro" }, "Google"],
  ])("%s has the rules of %s", (provider, name) => {
    const [finding] = lint([user(text("Hi"), { type: "file", mediaType: "x/y", url: "data:," })], provider);
    expect(finding?.message).toContain(`${name} cannot read`);
  });
});
