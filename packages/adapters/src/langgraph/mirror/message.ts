import type { BaseMessage } from "@langchain/core/messages";
import {
  assertMessage,
  givenMessage,
  isJsonObject,
  type JsonObject,
  type SessionMessage,
  type SessionMessagePart,
  sha256,
  storableText,
} from "@stemma/model";

/** The fields of LangChain's messages that are read here; a class has some of them, a copy of the package may lack others. */
type Message = Pick<BaseMessage, "id" | "name" | "content"> & {
  readonly role?: string;
  readonly tool_calls?: readonly { readonly id?: string; readonly name: string; readonly args: unknown }[];
  readonly tool_call_id?: string;
  readonly status?: string;
};

const ROLES: Readonly<Record<string, string>> = {
  human: "user",
  ai: "assistant",
  system: "system",
  developer: "system",
  tool: "tool",
  function: "tool",
};

/** True for one of LangChain's messages, of whichever copy of the package. */
export function isLangChainMessage(value: unknown): value is BaseMessage {
  if (!isJsonObject(value)) return false;
  const { getType, content } = value as { getType?: unknown; content?: unknown };
  return typeof getType === "function" && (typeof content === "string" || Array.isArray(content));
}

/**
 * A LangChain message as a session keeps it: its text, reasoning and files, and its tool calls and results as parts that
 * name the same call. What has no counterpart becomes a data part. A message that no session can hold (its id is too long,
 * its content too deep) keeps its text.
 */
export function sessionMessageOf(message: BaseMessage, createdAt: string): SessionMessage {
  const type = message.getType();
  const fields: Message = message;
  const role = ROLES[type] ?? (type === "generic" ? fields.role : undefined) ?? type;
  const parts = role === "tool" ? [resultPart(fields)] : [...contentParts(fields), ...callParts(fields)];
  const id = messageIdOf(message);
  const metadata = fields.name ? { metadata: { name: fields.name } } : {};
  try {
    const given = givenMessage({ id, role, parts, createdAt, ...metadata });
    assertMessage(given, JSON.stringify(given));
    return given;
  } catch {
    const text = storableText(textOf(message.content));
    return { id: derivedId(id, text), role: storableText(role), parts: [{ type: "text", text }], createdAt };
  }
}

/** The message's id, or one made of what it says. */
export function messageIdOf(message: BaseMessage): string {
  return message.id || derivedId(message.getType(), JSON.stringify(message.content));
}

function derivedId(...content: readonly string[]): string {
  return `langgraph-${sha256(JSON.stringify(content)).slice(0, 24)}`;
}

function contentParts({ content, tool_calls = [] }: Message): SessionMessagePart[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  const called = new Set(tool_calls.map(({ id }) => id));
  // Some providers say a call in the content too.
  const said = content.filter(
    (block) => !(isJsonObject(block) && /^tool_(use|call)$/.test(String(block.type)) && called.has(block.id as string)),
  );
  return said.map((block) => (typeof block === "string" ? { type: "text", text: block } : partOf(block)));
}

function partOf(block: JsonObject): SessionMessagePart {
  const { type, text, thinking, reasoning } = block;
  if (type === "text" && typeof text === "string") return { type: "text", text };
  const thought = thinking ?? reasoning;
  if ((type === "thinking" || type === "reasoning") && typeof thought === "string")
    return { type: "reasoning", text: thought };
  const url = urlOf(block);
  const mediaType = typeof block.mimeType === "string" ? block.mimeType : `${String(type).replace(/_url$/, "")}/*`;
  if (url !== null) return { type: "file", mediaType: /^data:([\w.+-]+\/[\w.+-]+)/.exec(url)?.[1] ?? mediaType, url };
  return { type: "data-langchain", data: block };
}

// Of an image or a file, in LangChain's own form and in OpenAI's.
function urlOf({ image_url: image, url, data, mimeType }: JsonObject): string | null {
  const given = isJsonObject(image) ? image.url : (image ?? url);
  if (typeof given === "string") return given;
  return typeof data === "string" && typeof mimeType === "string" ? `data:${mimeType};base64,${data}` : null;
}

function callParts({ tool_calls = [] }: Message): SessionMessagePart[] {
  return tool_calls.map(({ id, name, args }) => ({
    type: "tool-call",
    ...(id ? { toolCallId: id } : {}),
    toolName: name,
    input: args,
  }));
}

function resultPart({ content, name, tool_call_id: id, status }: Message): SessionMessagePart {
  const named = { ...(id ? { toolCallId: id } : {}), ...(name ? { toolName: name } : {}) };
  if (status === "error") return { type: "tool-error", ...named, errorText: textOf(content) };
  return { type: "tool-result", ...named, output: content };
}

function textOf(content: Message["content"]): string {
  if (typeof content === "string") return content;
  const texts = content.map((block) => (isJsonObject(block) && typeof block.text === "string" ? block.text : ""));
  return texts.filter((text) => text !== "").join("\n");
}
