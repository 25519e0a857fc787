import type { AgentInputItem } from "@openai/agents";
import { findExportFormat } from "../../packages/formats/src/export/export-formats.js";
import { importSession } from "../../packages/formats/src/import/import-session.js";
import { toOpenai } from "../../packages/formats/src/programs/openai/openai-export.js";
import { toPi } from "../../packages/formats/src/programs/pi/pi-export.js";
import { atOnce } from "../../packages/model/src/lib/event-loop.js";
import { fromSDKMessages, type SDKMessage, toSDKMessages } from "../../packages/stemma/src/agent.js";
import { repair } from "../../packages/stemma/src/ai-sdk.js";
import { openaiAgentsSession } from "../../packages/stemma/src/openai-agents.js";
import { Session } from "../../packages/stemma/src/session.js";
import type { SessionInfo, Store } from "../../packages/store/src/contract/store.js";
import { asStored, collect, sessionOf } from "../cli/read.js";
import { type BlockMessage, fromBlocks, readClaude, writeClaude } from "./crossing-claude.js";
import { readGraph, readLangchain, writeGraph, writeLangchain } from "./crossing-langchain.js";
import { asValue, fromUiMessages, isCall, type Said, stepsOf, textOf, toUiMessages } from "./crossing-said.js";

/** A way into a session and out of it. */
export interface Crossing {
  readonly name: string;
  /** Adds what was said to the session, in the framework's own way. */
  write(store: Store, id: string, conversation: readonly Said[]): Promise<void>;
  /** What the framework sees of the session. */
  read(store: Store, id: string): Promise<Said[]>;
  /** True for what writes whole sessions only: a file, or a graph, which knows its own messages alone. */
  readonly isWhole?: boolean;
}

const open = (store: Store, id: string) => Session.create(store).forSession(id);

/** Every adapter: a line for each. */
export const ADAPTERS: readonly Crossing[] = [
  { name: "the AI SDK", write: writeUiMessages, read: readUiMessages },
  { name: "the session runner", write: writeRunner, read: readRunner },
  { name: "the OpenAI Agents SDK", write: writeAgents, read: readAgents },
  { name: "LangChain's chat history", write: writeLangchain, read: readLangchain },
  { name: "the Claude Agent SDK", write: writeClaude, read: readClaude },
  { name: "LangGraph", write: writeGraph, read: readGraph, isWhole: true },
  file("openai", (conversation) => JSON.stringify(atOnce(toOpenai(toUiMessages(conversation))))),
  file("pi", (conversation) => {
    const messages = toUiMessages(conversation).map((message, index, all) => {
      const at = { line: 1, entry: index };
      return { message, parentId: all[index - 1]?.id ?? null, at };
    });
    const session = { id: "s", name: "s", source: "pi", messages, compactions: [], skipped: [] };
    return atOnce(toPi(asStored(session as never)))
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
  // Without what they carry for the way back.
  const messages = toSDKMessages(await open(store, id).getHistory()).map(({ ui: _ui, ...message }) => message);
  return fromBlocks(messages as BlockMessage[]);
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
  const items = await openaiAgentsSession<AgentInputItem>(open(store, id)).getItems();
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

// ── Files ──

function file(format: string, textOfFile: (conversation: readonly Said[]) => string): Crossing {
  return {
    name: `a file of ${format}`,
    isWhole: true,
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
