import { safeValidateUIMessages } from "ai";
import { describe, expect, it } from "vitest";
import { validMessage } from "../../../../src/ai-sdk/message/validate.js";

const PARTS = [
  { type: "text", text: "x", state: "done", providerMetadata: { a: { b: [1, null, { c: "d" }] } } },
  { type: "reasoning", id: "r", text: "x", state: "streaming", providerMetadata: { a: {} } },
  { type: "source-url", sourceId: "s", url: "u", title: "t", providerMetadata: {} },
  { type: "source-document", sourceId: "s", mediaType: "a/b", title: "t", filename: "f", providerMetadata: {} },
  { type: "file", mediaType: "a/b", filename: "f", url: "u", providerMetadata: {} },
  { type: "step-start" },
  { type: "data-x", id: "d", data: { any: "thing" } },
  ...["dynamic-tool", "tool-x"].flatMap(callsOf),
];

/** A call in each state, with every field that it may have. */
function callsOf(type: string): Record<string, unknown>[] {
  const call = {
    type,
    ...(type === "dynamic-tool" ? { toolName: "x", dynamic: false } : {}),
    toolCallId: "c",
    toolMetadata: { a: 1 },
    providerExecuted: true,
    callProviderMetadata: { a: { b: 1 } },
    input: {},
  };
  const result = { ...call, resultProviderMetadata: { a: { b: 1 } } };
  const request = { id: "a", signature: "s", descriptor: 1, inputSchemaInput: 1 };
  const granted = { approval: { ...request, approved: true, reason: "r" } };
  const denied = { approval: { ...request, approved: false, reason: "r" } };
  return [
    { ...call, state: "input-streaming", rawInput: "{", inputEncoding: "json" },
    { ...call, state: "input-available" },
    { ...call, state: "approval-requested", approval: request },
    { ...call, state: "approval-responded", ...granted },
    { ...call, state: "approval-responded", ...denied },
    { ...result, state: "output-available", output: 1, preliminary: true, ...granted },
    { ...result, state: "output-error", rawInput: 1, errorText: "e", ...granted },
    { ...call, state: "output-denied", ...denied },
  ];
}

const VALUES = [undefined, null, "", "json", "done", "x", 1, true, false, [], {}, { a: 1 }, { a: { b: 1 } }, { a: [] }];

/** A part with each of its fields in turn left out, or of another kind, down to the fields of its approval. */
function variants(part: Readonly<Record<string, unknown>>): Record<string, unknown>[] {
  const extra = ["output", "errorText", "approval", "state", "toolCallId", "text", "providerMetadata", "id"];
  return [...new Set([...Object.keys(part), ...extra])].flatMap((field) => {
    const { [field]: value, ...rest } = part;
    const inner = field === "approval" && typeof value === "object" ? variants(value as object as never) : [];
    return [rest, ...[...VALUES, ...inner].map((other) => ({ ...part, [field]: other }))];
  });
}

/** JSON leaves out a value that is undefined, as the output of a tool may be. The AI SDK asks for the field. */
function whole(part: Readonly<Record<string, unknown>>): object {
  const output = part.state === "output-available" ? { output: null } : {};
  return structuredClone({ input: null, data: null, ...output, ...part });
}

describe("a message of a client", () => {
  it("has the parts that the AI SDK's own check takes", async () => {
    const all = PARTS.flatMap((part) => [part, ...variants(part)]);
    const wrong: unknown[] = [];
    for (const part of all) {
      const message = { id: "m", role: "user", parts: [part] };
      const { success } = await safeValidateUIMessages({ messages: [{ ...message, parts: [whole(part)] }] });
      if ((validMessage(message) !== null) !== success) wrong.push(part);
    }
    expect(all.length).toBeGreaterThan(3000);
    expect(wrong).toEqual([]);
  });

  it("is the same object when all of it is known, and else holds the parts that are", () => {
    const [text, unknown] = [{ type: "text", text: "x" }, { type: "unknown" }];
    const message = { id: "m", role: "user", parts: [text] };
    expect(validMessage(message)).toBe(message);
    expect(validMessage({ ...message, parts: [unknown, null, text, 1] })).toEqual(message);
    expect(validMessage({ ...message, parts: [unknown] })).toBe(null);
  });

  it("may be empty if it is an answer", () => {
    const answer = { id: "m", role: "assistant", parts: [] };
    expect(validMessage(answer)).toBe(answer);
    for (const role of ["user", "system", "tool", 1]) expect(validMessage({ ...answer, role })).toBe(null);
    expect(validMessage({ role: "assistant", parts: [] })).toBe(null);
    expect(validMessage({ id: "m", role: "assistant", parts: [{ type: "unknown" }] })).toBe(null);
  });
});
