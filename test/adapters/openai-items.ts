import type { AgentInputItem } from "@openai/agents";

/** One of everything that the protocol of the OpenAI Agents SDK has, as a hosted model gives it. */
export const EVERY_ITEM: AgentInputItem[] = [
  { type: "message", role: "system", content: "Be brief." },
  { role: "user", content: "Weather in Oslo?" },
  {
    type: "message",
    role: "user",
    content: [
      { type: "input_text", text: "And this?", promptCacheBreakpoint: { mode: "explicit" } },
      { type: "input_image", image: "data:image/png;base64,AAAA", detail: "low" },
      { type: "input_image", image: { id: "file-1" } },
      { type: "input_file", file: { url: "https://example.com/a.pdf" }, filename: "a.pdf" },
      { type: "audio", audio: "BBBB", format: "wav", transcript: null },
    ],
    providerData: { a: [1, { b: null }] },
  },
  { type: "reasoning", id: "rs_1", content: [{ type: "input_text", text: "Hm." }], providerData: { encrypted: "x" } },
  {
    type: "message",
    id: "msg_1",
    role: "assistant",
    status: "completed",
    phase: "commentary",
    content: [
      { type: "output_text", text: "Looking.", providerData: { annotations: [] } },
      { type: "refusal", refusal: "Not that." },
    ],
  },
  {
    type: "function_call",
    id: "fc_1",
    callId: "c1",
    name: "weather",
    arguments: '{"city":"Oslo"}',
    status: "completed",
  },
  { type: "function_call", callId: "c2", name: "weather", arguments: "not json", namespace: "n" },
  { type: "hosted_tool_call", id: "ws_1", name: "web_search_call", status: "completed", providerData: { q: "Oslo" } },
  {
    type: "function_call_result",
    name: "weather",
    callId: "c2",
    status: "completed",
    output: [{ type: "input_image", image: "data:image/png;base64,CCCC" }],
  },
  { type: "function_call_result", name: "weather", callId: "c1", status: "completed", output: '{"degrees":3}' },
  { type: "computer_call", callId: "c3", status: "completed", action: { type: "screenshot" } },
  {
    type: "computer_call_result",
    callId: "c3",
    output: { type: "computer_screenshot", data: "data:image/png;base64,DDDD" },
  },
  { type: "shell_call", callId: "c4", action: { commands: ["ls"] } },
  {
    type: "shell_call_output",
    callId: "c4",
    output: [{ stdout: "a", stderr: "", outcome: { type: "exit", exitCode: 0 } }],
  },
  { type: "apply_patch_call", callId: "c5", status: "completed", operation: { type: "delete_file", path: "a" } },
  { type: "apply_patch_call_output", callId: "c5", status: "completed", output: "done" },
  { type: "program", callId: "c6", code: "1 + 1", fingerprint: "f" },
  { type: "program_output", callId: "c6", output: "2", status: "completed" },
  { type: "tool_search_call", callId: "c7", arguments: { query: "x" } },
  { type: "tool_search_output", callId: "c7", tools: [{ name: "x" }] },
  { type: "function_call", callId: "c8", name: "photo", arguments: "{}" },
  {
    type: "function_call_result",
    name: "photo",
    callId: "c8",
    status: "completed",
    output: { type: "image", image: { data: new Uint8Array([0, 255, 7]), mediaType: "image/png" } },
  },
  { type: "compaction", id: "cmp_1", encrypted_content: "zzz" },
  { type: "unknown", providerData: { $bytes: "no bytes", $object: 1 } },
  { type: "message", role: "assistant", status: "incomplete", content: [{ type: "output_text", text: "" }] },
  { type: "function_call", callId: "c9", name: "open", arguments: "{}" },
];

export const user = (text: string): AgentInputItem => ({ type: "message", role: "user", content: text });

export const answer = (text: string): AgentInputItem => ({
  type: "message",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text }],
});

export const call = (callId: string, args = "{}"): AgentInputItem & { type: "function_call" } => ({
  type: "function_call",
  callId,
  name: "add",
  status: "completed",
  arguments: args,
});

export const result = (callId: string, text = `result of ${callId}`): AgentInputItem => ({
  type: "function_call_result",
  name: "add",
  callId,
  status: "completed",
  output: { type: "text", text },
});
