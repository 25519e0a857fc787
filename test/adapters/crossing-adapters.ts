import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import type { AgentInputItem } from "@openai/agents";
import { fromSDKMessages, type SDKMessage, toSDKMessages } from "../../src/agent.js";
import { repair } from "../../src/ai-sdk.js";
import { findExportFormat } from "../../src/formats/export-formats.js";
import { importSession } from "../../src/formats/import/import-session.js";
import { toOpenai } from "../../src/formats/openai-export.js";
import { toPi } from "../../src/formats/pi-export.js";
import { StemmaChatMessageHistory } from "../../src/langchain.js";
import { openaiAgentsSession } from "../../src/openai-agents.js";
import { Session } from "../../src/session.js";
import type { SessionInfo, Store } from "../../src/storage/contract.js";
import { asStored, collect, sessionOf } from "../cli/read.js";
import { asValue, type Call, fromUiMessages, isCall, type Said, stepsOf, toUiMessages } from "./crossing-said.js";

/** A way into a session and out of it. */
export interface Crossing {
  readonly name: string;
  /** Adds what was said to the session, in the framework's own way. */
  write(store: Store, id: string, conversation: readonly Said[]): Promise<void>;
  /** What the framework sees of the session. */
  read(store: Store, id: string): Promise<Said[]>;
  /** True for a file, which writes whole sessions only. */
  readonly isFile?: boolean;
}

const open = (store: Store, id: string) => Session.create(store).forSession(id);
const textOf = (output: unknown) => (typeof output === "string" ? output : JSON.stringify(output));

/** Every adapter: a line for each. */
export const ADAPTERS: readonly Crossing[] = [
  { name: "the AI SDK", write: writeUiMessages, read: readUiMessages },
  { name: "the session runner", write: writeRunner, read: readRunner },
  { name: "the OpenAI Agents SDK", write: writeAgents, read: readAgents },
  { name: "LangChain's chat history", write: writeLangchain, read: readLangchain },
  file("openai", (conversation) => JSON.stringify(toOpenai(toUiMessages(conversation)))),
  file("pi", (conversation) => {
    const messages = toUiMessages(conversation).map((message, index, all) => {
      const at = { line: 1, entry: index };
      return { message, parentId: all[index - 1]?.id ?? null, at };
    });
    const session = { id: "s", name: "s", source: "pi", messages, compactions: [], skipped: [] };
    return toPi(asStored(session as never))
      .map((entry) => `${JSON.stringify(entry)}\n`)
      .join("");
  }),
];

// ── The AI SDK ──

async function writeUiMessages(store: Store, id: string, conversation: readonly Said[]): Promise<void> {
  await open(store, id).appendAll(toUiMessages(conversation));
}

async function readUiMessages(store: Store, id: string): Promise<Said[]> {
  return fromUiMessages(repair(await open(store, id).getHistory(), "openai"));
}

// ── The session runner ──

async function writeRunner(store: Store, id: string, conversation: readonly Said[]): Promise<void> {
  const messages = stepsOf(conversation).flatMap((step): SDKMessage[] => {
    const [said] = step as [Said];
    if ("answer" in said) return [{ role: "assistant", content: said.answer }];
    if ("user" in said) {
      const data = said.image?.split(",")[1];
      if (data === undefined) return [{ role: "user", content: said.user }];
      const image = { type: "image", source: { type: "base64", media_type: "image/png", data } } as const;
      return [{ role: "user", content: [{ type: "text", text: said.user }, image] }];
    }
    const calls = step.filter(isCall);
    const use = calls.map(({ call, tool, input }) => ({ type: "tool_use", id: call, name: tool, input }) as const);
    const results = calls.map(({ call, output }) => {
      const result = { type: "tool_result", tool_use_id: call, content: textOf(output) } as const;
      return typeof output === "string" ? result : { ...result, json: true };
    });
    return [
      { role: "assistant", content: use },
      { role: "user", content: results },
    ] as SDKMessage[];
  });
  await open(store, id).appendAll(fromSDKMessages(messages));
}

async function readRunner(store: Store, id: string): Promise<Said[]> {
  const messages = toSDKMessages(await open(store, id).getHistory());
  return fromUiMessages(fromSDKMessages(JSON.parse(JSON.stringify(messages))));
}

// ── The OpenAI Agents SDK ──

async function writeAgents(store: Store, id: string, conversation: readonly Said[]): Promise<void> {
  const items = stepsOf(conversation).flatMap((step): AgentInputItem[] => {
    const [said] = step as [Said];
    if ("answer" in said) {
      const content = [{ type: "output_text" as const, text: said.answer, providerData: { annotations: [] } }];
      return [{ type: "message", id: "msg_1", role: "assistant", status: "completed", content }];
    }
    if ("user" in said) {
      const image = said.image === undefined ? [] : [{ type: "input_image" as const, image: said.image }];
      return [{ type: "message", role: "user", content: [{ type: "input_text", text: said.user }, ...image] }];
    }
    const calls = step.filter(isCall);
    return [
      ...calls.map(({ call, tool, input }): AgentInputItem => {
        return { type: "function_call", id: `fc_${call}`, callId: call, name: tool, arguments: JSON.stringify(input) };
      }),
      ...calls.map(({ call, tool, output }): AgentInputItem => {
        const text = { type: "text" as const, text: textOf(output) };
        return { type: "function_call_result", callId: call, name: tool, status: "completed", output: text };
      }),
    ];
  });
  await openaiAgentsSession(open(store, id)).addItems(items);
}

async function readAgents(store: Store, id: string): Promise<Said[]> {
  const items = await openaiAgentsSession(open(store, id)).getItems();
  return items.flatMap((item): Said[] => {
    if (item.type === "function_call") {
      const results = items.filter((each) => each.type === "function_call_result" && each.callId === item.callId);
      const [result] = results as { output: { text: string } }[];
      const { callId: call, name: tool } = item;
      return [{ call, tool, input: JSON.parse(item.arguments), output: asValue(result?.output.text) }];
    }
    if (item.type !== "message") return [];
    const content = typeof item.content === "string" ? [{ type: "input_text", text: item.content }] : item.content;
    const text = content.flatMap((block) => ("text" in block ? [block.text] : [])).join("");
    if (item.role !== "user") return [{ answer: text }];
    const image = content.flatMap((block) => ("image" in block ? [block.image] : []))[0];
    return [typeof image === "string" ? { user: text, image } : { user: text }];
  });
}

// ── LangChain ──

async function writeLangchain(store: Store, id: string, conversation: readonly Said[]): Promise<void> {
  const messages = stepsOf(conversation).flatMap((step): BaseMessage[] => {
    const [said] = step as [Said];
    if ("answer" in said) return [new AIMessage({ id: "run-1", content: said.answer })];
    if ("user" in said) {
      if (said.image === undefined) return [new HumanMessage(said.user)];
      const image = { type: "image_url", image_url: { url: said.image } };
      return [new HumanMessage({ content: [{ type: "text", text: said.user }, image] })];
    }
    const calls = step.filter(isCall);
    const tool_calls = calls.map(({ call, tool, input }) => ({ id: call, name: tool, args: input as object }));
    return [
      new AIMessage({ content: "", tool_calls }),
      ...calls.map(({ call, output }) => new ToolMessage({ tool_call_id: call, content: textOf(output) })),
    ];
  });
  await new StemmaChatMessageHistory(open(store, id)).addMessages(messages);
}

async function readLangchain(store: Store, id: string): Promise<Said[]> {
  const messages = await new StemmaChatMessageHistory(open(store, id)).getMessages();
  return messages.flatMap((message): Said[] => {
    if (message instanceof HumanMessage) {
      const content = typeof message.content === "string" ? [{ type: "text", text: message.content }] : message.content;
      const text = content.flatMap((block) => (block.type === "text" ? [String(block.text)] : [])).join("");
      const image = content.flatMap((block) => (block.type === "image_url" ? [block.image_url] : []))[0];
      return [image === undefined ? { user: text } : { user: text, image: (image as { url: string }).url }];
    }
    if (!(message instanceof AIMessage)) return [];
    const calls = (message.tool_calls ?? []).map(({ id: call = "", name, args }): Call => {
      const result = messages.find((each) => each instanceof ToolMessage && each.tool_call_id === call);
      return { call, tool: name, input: args, output: asValue(String(result?.content)) };
    });
    return [...(message.text === "" ? [] : [{ answer: message.text }]), ...calls];
  });
}

// ── Files ──

function file(format: string, textOfFile: (conversation: readonly Said[]) => string): Crossing {
  return {
    name: `a file of ${format}`,
    isFile: true,
    async write(store, id, conversation) {
      await importSession(store, await sessionOf(textOfFile(conversation)), id);
    },
    async read(store, id) {
      const info = (await store.sessions.get(id)) as SessionInfo;
      const text = (await collect(findExportFormat(format).write(store, info))).join("");
      return fromUiMessages((await sessionOf(text)).messages.map(({ message }) => message));
    },
  };
}
