import { jsonl } from "../cli/read.js";
import { call as claudeCall, text as claudeText, Transcript } from "./claude-code-lines.js";

/** A conversation in the form of one format: a question, a call of `weather` with its result, and an answer. */
export interface ExampleFile {
  /** The source that its session tells. */
  source: string;
  /** The file as values, one a line; JSON of several lines is one value. */
  values: unknown[];
  /** True where the format keeps no results of tools. */
  withoutResults?: boolean;
}

const time = "2026-10-01T10:00:00.000Z";
const ID = "11111111-1111-4111-8111-111111111111";

function claudeCode(): unknown[] {
  const transcript = new Transcript(ID);
  const asked = transcript.user(null, "Where does the heron nest?");
  const thought = transcript.assistant(asked, "m1", { type: "thinking", thinking: "I look it up." });
  const called = transcript.assistant(thought, "m1", { ...claudeCall("c1", { city: "Oslo" }), name: "weather" });
  const answered = transcript.result(called, "c1", "mild");
  transcript.assistant(answered, "m2", claudeText("In the reeds."));
  return transcript.lines;
}

const codexItem = (payload: object) => ({ timestamp: time, type: "response_item", payload });
const chatgptNode = (id: string, parent: string | null, role: string, content: object, fields: object = {}) => ({
  id,
  parent,
  message: { id, author: { role }, create_time: 1.76e9, content, ...fields },
});
const words = (text: string) => ({ content_type: "text", parts: [text] });
const chatgptNodes = [
  chatgptNode("u", null, "user", words("Where does the heron nest?")),
  chatgptNode("c", "u", "assistant", words('{"city":"Oslo"}'), { recipient: "weather" }),
  chatgptNode("r", "c", "tool", words("mild")),
  chatgptNode("a", "r", "assistant", words("In the reeds.")),
];
const anthropicCall = { type: "tool_use", id: "c1", name: "weather", input: { city: "Oslo" } };
const responsesItems = [
  { type: "message", role: "user", content: [{ type: "input_text", text: "Where does the heron nest?" }] },
  { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "I look it up." }] },
  { type: "function_call", call_id: "c1", name: "weather", arguments: '{"city":"Oslo"}' },
  { type: "function_call_output", call_id: "c1", output: "mild" },
  { type: "message", role: "assistant", content: [{ type: "output_text", text: "In the reeds." }] },
];
const openCodePart = (fields: object) => ({ id: "prt", sessionID: "ses_1", messageID: "msg", ...fields });
const openCodeMessage = (id: string, role: string, fields: object, ...parts: object[]) => ({
  info: { id, sessionID: "ses_1", role, time: { created: 1.76e12 }, ...fields },
  parts: parts.map(openCodePart),
});
const libreMessage = (messageId: string, parentMessageId: string, fields: object) => ({
  messageId,
  parentMessageId,
  conversationId: "libre",
  createdAt: time,
  ...fields,
});

/** A file of each format, and of each form that a format is written in. */
export const EXAMPLES: Readonly<Record<string, ExampleFile>> = {
  "claude-code": { source: "claude-code", values: claudeCode() },
  codex: {
    source: "codex",
    values: [
      { timestamp: time, type: "session_meta", payload: { id: ID, cwd: "/home/ada/mill" } },
      ...responsesItems.map(codexItem),
    ],
  },
  "codex without envelopes": {
    source: "codex",
    values: [
      { id: ID, timestamp: time, instructions: null },
      { role: "user", content: [{ type: "input_text", text: "Where does the heron nest?" }] },
      ...responsesItems.slice(1, 4),
      { role: "assistant", content: [{ type: "output_text", text: "In the reeds." }] },
    ],
  },
  chatgpt: {
    source: "chatgpt",
    values: [
      {
        conversation_id: "c",
        title: "Herons",
        current_node: "a",
        mapping: Object.fromEntries(chatgptNodes.map((node) => [node.id, node])),
      },
    ],
  },
  claude: {
    source: "claude",
    values: [
      {
        uuid: "c",
        name: "Herons",
        chat_messages: [
          { uuid: "u", sender: "human", text: "Where does the heron nest?" },
          {
            uuid: "a",
            sender: "assistant",
            content: [
              anthropicCall,
              { type: "tool_result", tool_use_id: "c1", content: [{ type: "text", text: "mild" }] },
              { type: "text", text: "In the reeds." },
            ],
          },
        ],
      },
    ],
  },
  pi: {
    source: "pi",
    values: [
      { type: "session", id: "p", timestamp: time, cwd: "/home/ada/mill" },
      ...[
        { role: "user", content: "Where does the heron nest?" },
        {
          role: "assistant",
          content: [{ type: "toolCall", id: "c1", name: "weather", arguments: { city: "Oslo" } }],
        },
        { role: "toolResult", toolCallId: "c1", content: [{ type: "text", text: "mild" }] },
        { role: "assistant", content: [{ type: "text", text: "In the reeds." }] },
      ].map((message) => ({ type: "message", timestamp: time, message })),
    ],
  },
  "chat completions": {
    source: "openai",
    values: [
      { role: "user", content: "Where does the heron nest?" },
      {
        role: "assistant",
        content: null,
        reasoning_content: "I look it up.",
        tool_calls: [{ id: "c1", type: "function", function: { name: "weather", arguments: '{"city":"Oslo"}' } }],
      },
      { role: "tool", tool_call_id: "c1", content: "mild" },
      { role: "assistant", content: "In the reeds." },
    ],
  },
  responses: { source: "openai", values: responsesItems },
  "a request and its response": {
    source: "openai",
    values: [
      { model: "gpt-x", instructions: "Be brief.", input: responsesItems.slice(0, 1), output: responsesItems.slice(1) },
    ],
  },
  anthropic: {
    source: "anthropic",
    values: [
      {
        model: "claude-x",
        system: "Be brief.",
        messages: [
          { role: "user", content: "Where does the heron nest?" },
          {
            role: "assistant",
            content: [{ type: "thinking", thinking: "I look it up.", signature: "sig" }, anthropicCall],
          },
          { role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content: "mild" }] },
          { role: "assistant", content: [{ type: "text", text: "In the reeds." }] },
        ],
      },
    ],
  },
  "model messages": {
    source: "model-messages",
    values: [
      { role: "user", content: [{ type: "text", text: "Where does the heron nest?" }] },
      {
        role: "assistant",
        content: [
          { type: "reasoning", text: "I look it up." },
          { type: "tool-call", toolCallId: "c1", toolName: "weather", input: { city: "Oslo" } },
        ],
      },
      {
        role: "tool",
        content: [
          { type: "tool-result", toolCallId: "c1", toolName: "weather", output: { type: "text", value: "mild" } },
        ],
      },
      { role: "assistant", content: [{ type: "text", text: "In the reeds." }] },
    ],
  },
  "core messages of version 4": {
    source: "model-messages",
    values: [
      { role: "user", content: "Where does the heron nest?" },
      {
        role: "assistant",
        content: [{ type: "tool-call", toolCallId: "c1", toolName: "weather", args: { city: "Oslo" } }],
      },
      { role: "tool", content: [{ type: "tool-result", toolCallId: "c1", toolName: "weather", result: "mild" }] },
      { role: "assistant", content: "In the reeds." },
    ],
  },
  "ui messages": {
    source: "ui-messages",
    values: [
      { id: "u", role: "user", parts: [{ type: "text", text: "Where does the heron nest?" }] },
      {
        id: "a",
        role: "assistant",
        parts: [
          { type: "step-start" },
          {
            type: "tool-weather",
            toolCallId: "c1",
            state: "output-available",
            input: { city: "Oslo" },
            output: "mild",
          },
          { type: "text", text: "In the reeds." },
        ],
      },
    ],
  },
  "ui messages of version 4": {
    source: "ui-messages",
    values: [
      { id: "u", role: "user", content: "Where does the heron nest?", createdAt: time },
      {
        id: "a",
        role: "assistant",
        content: "In the reeds.",
        createdAt: time,
        toolInvocations: [
          { state: "result", toolCallId: "c1", toolName: "weather", args: { city: "Oslo" }, result: "mild" },
        ],
      },
    ],
  },
  "ui messages of version 4 with parts": {
    source: "ui-messages",
    values: [
      {
        id: "u",
        role: "user",
        content: "Where does the heron nest?",
        parts: [{ type: "text", text: "Where does the heron nest?" }],
      },
      {
        id: "a",
        role: "assistant",
        content: "In the reeds.",
        parts: [
          { type: "reasoning", reasoning: "I look it up.", details: [] },
          {
            type: "tool-invocation",
            toolInvocation: {
              state: "result",
              toolCallId: "c1",
              toolName: "weather",
              args: { city: "Oslo" },
              result: "mild",
            },
          },
          { type: "text", text: "In the reeds." },
        ],
      },
    ],
  },
  cursor: {
    source: "cursor",
    withoutResults: true,
    values: [
      {
        role: "user",
        message: { content: [{ type: "text", text: "<user_query>\nWhere does the heron nest?\n</user_query>" }] },
      },
      {
        role: "assistant",
        message: { content: [{ type: "tool_use", name: "weather", input: { city: "Oslo" } }] },
      },
      { role: "assistant", message: { content: [{ type: "text", text: "In the reeds." }] } },
    ],
  },
  "role and text": {
    source: "openai",
    withoutResults: true,
    values: [
      { role: "user", text: "Where does the heron nest?" },
      { role: "assistant", text: "In the reeds." },
    ],
  },
  gemini: {
    source: "gemini",
    values: [
      { sessionId: "gem", projectHash: "hash", startTime: time, lastUpdated: time, kind: "main" },
      { id: "u", timestamp: time, type: "user", content: [{ text: "Where does the heron nest?" }] },
      {
        id: "a",
        timestamp: time,
        type: "gemini",
        model: "gemini-x",
        content: "In the reeds.",
        thoughts: [{ subject: "Nests", description: "I look it up.", timestamp: time }],
        tokens: { input: 10, output: 5, cached: 0, thoughts: 2, total: 17 },
        toolCalls: [
          {
            id: "c1",
            name: "weather",
            args: { city: "Oslo" },
            status: "success",
            timestamp: time,
            result: [{ functionResponse: { id: "c1", name: "weather", response: { output: "mild" } } }],
          },
        ],
      },
    ],
  },
  "gemini contents": {
    source: "gemini",
    values: [
      {
        contents: [
          { role: "user", parts: [{ text: "Where does the heron nest?" }] },
          { role: "model", parts: [{ functionCall: { name: "weather", args: { city: "Oslo" } } }] },
          { role: "user", parts: [{ functionResponse: { name: "weather", response: { output: "mild" } } }] },
          { role: "model", parts: [{ text: "In the reeds." }] },
        ],
      },
    ],
  },
  opencode: {
    source: "opencode",
    values: [
      {
        info: {
          id: "ses_1",
          title: "Herons",
          directory: "/home/ada/mill",
          time: { created: 1.76e12, updated: 1.76e12 },
        },
        messages: [
          openCodeMessage("m1", "user", {}, { type: "text", text: "Where does the heron nest?" }),
          openCodeMessage(
            "m2",
            "assistant",
            {
              parentID: "m1",
              modelID: "claude-x",
              cost: 0.5,
              tokens: { input: 10, output: 5, cache: { read: 1, write: 0 } },
            },
            { type: "step-start" },
            { type: "reasoning", text: "I look it up.", time: { start: 1 } },
            {
              type: "tool",
              callID: "c1",
              tool: "weather",
              state: { status: "completed", input: { city: "Oslo" }, output: "mild", title: "", time: {} },
            },
            { type: "step-finish", reason: "tool-calls", cost: 0.5, tokens: {} },
          ),
          openCodeMessage("m3", "assistant", { parentID: "m1" }, { type: "text", text: "In the reeds." }),
        ],
      },
    ],
  },
  librechat: {
    source: "librechat",
    values: [
      {
        conversationId: "libre",
        title: "Herons",
        options: { model: "gpt-x" },
        messages: [
          libreMessage("u", "00000000-0000-0000-0000-000000000000", {
            isCreatedByUser: true,
            text: "Where does the heron nest?",
          }),
          libreMessage("a", "u", {
            isCreatedByUser: false,
            model: "gpt-x",
            content: [
              { type: "think", think: "I look it up." },
              { type: "tool_call", tool_call: { id: "c1", name: "weather", args: '{"city":"Oslo"}', output: "mild" } },
              { type: "text", text: { value: "In the reeds." } },
            ],
          }),
        ],
      },
    ],
  },
  "librechat as a tree": {
    source: "librechat",
    withoutResults: true,
    values: [
      {
        conversationId: "libre",
        recursive: true,
        messagesTree: [
          {
            ...libreMessage("u", "", { isCreatedByUser: true, text: "Where does the heron nest?" }),
            children: [libreMessage("a", "u", { isCreatedByUser: false, text: "In the reeds.", children: [] })],
          },
        ],
      },
    ],
  },
  "open-webui": {
    source: "open-webui",
    values: [
      {
        id: "webui",
        title: "Herons",
        chat: {
          models: ["gpt-x"],
          history: {
            currentId: "a",
            messages: {
              u: { id: "u", parentId: null, role: "user", content: "Where does the heron nest?", timestamp: 1.76e9 },
              a: {
                id: "a",
                parentId: "u",
                role: "assistant",
                model: "gpt-x",
                timestamp: 1.76e9,
                content:
                  '<details type="reasoning" done="true" duration="1">\n<summary>Thought for 1 second</summary>\n&gt; I look it up.\n</details>\n<details type="tool_calls" done="true" id="c1" name="weather" arguments="&quot;{\\&quot;city\\&quot;: \\&quot;Oslo\\&quot;}&quot;" result="&quot;mild&quot;">\n<summary>Tool Executed</summary>\n</details>\nIn the reeds.',
              },
            },
          },
        },
      },
    ],
  },
  "open-webui with output items": {
    source: "open-webui",
    values: [
      {
        id: "webui",
        title: "Herons",
        chat: {
          history: {
            currentId: "a",
            messages: {
              u: { id: "u", parentId: null, role: "user", content: "Where does the heron nest?" },
              a: { id: "a", parentId: "u", role: "assistant", content: "…", output: responsesItems.slice(1) },
            },
          },
        },
      },
    ],
  },
};

/** The example as the text of a file. */
export function textOf({ values }: ExampleFile): string {
  return jsonl(values);
}
