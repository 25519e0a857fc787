// Histories as they are found in stores: complete, cut off, imported, or begun with another provider's model.
import fc from "fast-check";
import type { SessionMessage } from "../../packages/model/src/messages/message.js";

const text = fc
  .record(
    {
      type: fc.constant("text"),
      text: fc.constantFrom("Hello", "Yes. ", "", " \n\t", "🙂", "half \ud83c", "nul \0"),
      state: fc.constantFrom("done", "streaming"),
      providerMetadata: fc.constantFrom(
        { openai: { itemId: "msg_1" } },
        { openai: { itemId: "msg_2" } },
        { openai: { itemId: "msg_lost" } },
        { openai: { itemId: `msg_${"m".repeat(70)}` } },
        { google: { thoughtSignature: "s\udc00" } },
        { anthropic: { citations: [] } },
        { google: { thoughtSignature: "sig" } },
      ),
    },
    { requiredKeys: ["type", "text"] },
  )
  .map((part) => {
    const item = (part.providerMetadata as { openai?: { itemId: string } } | undefined)?.openai?.itemId;
    return item?.includes("lost") ? { ...part, state: "streaming" } : part;
  });

const reasoning = fc.record(
  {
    type: fc.constant("reasoning"),
    text: fc.constantFrom("Let me see", ""),
    providerMetadata: fc.constantFrom(
      { anthropic: { signature: "signed" } },
      { anthropic: { redactedData: "secret" } },
      { anthropic: {} },
      { openai: { itemId: "rs_1", reasoningEncryptedContent: null } },
      { openai: { itemId: "rs_2" } },
      { openai: { itemId: `rs_${"r".repeat(70)}` } },
      { openai: { reasoningEncryptedContent: "secret" } },
      { google: { thoughtSignature: "sig" } },
    ),
  },
  { requiredKeys: ["type", "text"] },
);

const file = fc.record({
  type: fc.constant("file"),
  filename: fc.constantFrom("a.pdf", "a_b.pdf", "Größe 2.pdf", undefined),
  mediaType: fc.constantFrom("image/png", "image/svg+xml", "application/pdf", "audio/wav", "application/zip"),
  url: fc.constantFrom("data:image/png;base64,aGk=", "data:application/pdf;base64,aGk=", "data:,"),
});

const approval = fc.record(
  { id: fc.constantFrom("p1", "p2", "p3"), approved: fc.boolean(), reason: fc.constantFrom("No", "") },
  { requiredKeys: ["id"] },
);

const input = fc.constantFrom<unknown>(
  {},
  { city: "Bern" },
  { "key\ud800": ["x\udc00"] },
  "text",
  '{"city":"Bern"}',
  "{broken",
  [1],
  null,
  3,
);

const called = {
  input,
  output: fc.constantFrom<unknown>("Rain", "", "\ud800", { list: [{ "\0": "\udfff" }] }, { rain: true }, null, []),
  errorText: fc.constantFrom("Failed", "", "  "),
};

const state = fc.constantFrom(
  "input-streaming",
  "input-available",
  "approval-requested",
  "approval-responded",
  "output-available",
  "output-error",
  "output-denied",
);

const call = fc
  .record(
    {
      type: fc.constantFrom("tool-add", "tool-fs.read file", "tool-3d\ud800", `tool-${"x".repeat(70)}`, "dynamic-tool"),
      toolName: fc.constantFrom("add", "", "späti"),
      toolCallId: fc.constantFrom("a", "b", "c", "a:b", "", "y".repeat(90), "z".repeat(50), "\ud800"),
      state,
      ...called,
      rawInput: fc.constantFrom("{broken"),
      approval,
      preliminary: fc.boolean(),
    },
    { requiredKeys: ["type", "toolName", "toolCallId", "state", "input", "output", "errorText"] },
  )
  .map(complete);

/** A tool part as the AI SDK types it: each state with the fields that it has. */
function complete<T extends { state: string; approval?: object }>(part: T): object {
  const { output, errorText, preliminary, rawInput, approval, ...rest } = part as T & Record<string, unknown>;
  const failed = part.state === "output-error" ? { errorText, ...(rawInput === undefined ? {} : { rawInput }) } : {};
  const done = part.state === "output-available" ? { output, ...(preliminary ? { preliminary } : {}) } : {};
  const { id = "p1", approved = true, reason } = (approval ?? {}) as Record<string, unknown>;
  const said = reason === undefined ? {} : { reason };
  const asked: Record<string, object> = {
    "approval-requested": { approval: { id } },
    "approval-responded": { approval: { id, approved, ...said } },
    "output-denied": { approval: { id, approved: false, ...said } },
    "output-available": approval === undefined ? {} : { approval: { id, approved: true } },
  };
  return { ...rest, ...done, ...failed, ...asked[part.state] };
}

/** Calls that a provider ran itself. */
const served = fc
  .record({
    state: fc.constantFrom("input-available", "output-available", "output-error"),
    errorText: fc.constantFrom("unavailable"),
    own: fc.constantFrom(
      {
        type: "tool-web_search",
        toolCallId: "srvtoolu_1",
        output: [{ type: "web_search_result", url: "https://x.y", title: "X", pageAge: null, encryptedContent: "e" }],
      },
      { type: "tool-web_search", toolCallId: "srvtoolu_2", output: "[shortened]" },
      { type: "tool-search", toolCallId: "srvtoolu_3", output: [] },
      { type: "tool-web_search", toolCallId: "ws_1", output: { action: { type: "search", query: "x" } } },
      { type: "tool-mcp.list", toolCallId: "mcp_1", output: { type: "call", name: "list", output: "x" } },
      { type: "tool-code_execution", toolCallId: "g1", output: { outcome: "OUTCOME_OK", output: "1" } },
      {
        type: "tool-google_search",
        toolCallId: "g2",
        output: { found: 1 },
        callProviderMetadata: {
          google: { serverToolCallId: "g2", serverToolType: "GOOGLE_SEARCH", thoughtSignature: "s" },
        },
        resultProviderMetadata: { google: { serverToolCallId: "g2", serverToolType: "GOOGLE_SEARCH" } },
      },
      {
        type: "dynamic-tool",
        toolName: "echo",
        toolCallId: "mcptoolu_1",
        output: [{ type: "text", text: "x" }],
        callProviderMetadata: { anthropic: { type: "mcp-tool-use", serverName: "echo" } },
      },
    ),
  })
  .map(({ state, errorText, own: { output, ...own } }) => {
    const settled = state === "output-available" ? { output } : state === "output-error" ? { errorText } : {};
    return { ...own, state, providerExecuted: true, input: { query: "x" }, ...settled };
  });

/** What other formats leave behind. */
const loose = fc.constantFrom<object>(
  { type: "tool-call", toolCallId: "l", toolName: "look", args: { x: 1 } },
  { type: "tool-result", toolCallId: "l", toolName: "look", result: "Seen" },
  { type: "tool-result", toolCallId: "a", toolName: "add", result: 3 },
  { type: "tool-invocation", toolInvocation: { state: "call", toolCallId: "i" } },
  { type: "mystery" },
);

const beside = fc.constantFrom<object>(
  { type: "step-start" },
  { type: "step-start" },
  { type: "data-note", data: 1 },
  { type: "source-url", sourceId: "s", url: "https://x.y" },
);

const part = fc.oneof(
  { arbitrary: text, weight: 4 },
  { arbitrary: reasoning, weight: 2 },
  { arbitrary: call, weight: 4 },
  { arbitrary: beside, weight: 3 },
  served,
  file,
  loose,
);

/** Any list of stored messages, each id once. */
export const histories: fc.Arbitrary<SessionMessage[]> = fc
  .array(
    fc.record({
      role: fc.constantFrom("user", "assistant", "user", "assistant", "system", "tool"),
      parts: fc.oneof(
        { arbitrary: fc.array(part, { maxLength: 6 }), weight: 4 },
        { arbitrary: fc.constant([{ type: "text", text: "Say more" }]), weight: 1 },
      ),
    }),
    { minLength: 1, maxLength: 7 },
  )
  .map((messages) => messages.map((message, index) => ({ id: `m${index}`, ...message })) as SessionMessage[]);
