import type { Pieces, SessionMessagePart } from "@stemma/model";
import { isJsonObject, type JsonObject, nameOf } from "@stemma/model";
import { type Conversation, isItem } from "../../conversations.js";
import { deriveId, deriveSessionId, findName, isUuid } from "../../identity.js";
import { without } from "../../origin.js";
import { addSource, SessionBuilder } from "../../session-builder.js";
import { type FileInfo, findText, findTime, type ParsedSession, type Position } from "../../stemma/session-file.js";
import { rawPart } from "../../unread.js";
import { isResultBlock, outputOfBlock, partsOfBlocks, withCallId } from "../claude/claude.js";
import { callIdOf, fieldsOfOutput, isOutput, partOfItem, partsOfContent as partsOfItem } from "../codex/codex-items.js";
import { callsOf, partsOfContent as partsOfCompletion, reasoningOf } from "../openai/openai-content.js";
import { outputOfModelResult, partOfModelContent } from "./model-content.js";

/** The field of a message's metadata that notes which values of the file it was made of. */
const SOURCES = "imported";

const ROLES: Readonly<Record<string, string>> = {
  system: "system",
  developer: "system",
  user: "user",
  assistant: "assistant",
  model: "assistant",
  tool: "assistant",
};

/** Fields that a message's role and parts hold. */
const READ = ["role", "id", "type", "content", "text", "message", "tool_calls", "tool_call_id"];

/**
 * Reads a list of messages as Anthropic, OpenAI's Responses, the AI SDK and Cursor write them. The result of a tool goes into
 * the part of its call; what a model says and calls in items of their own is one message, up to the next result.
 */
export function* readChat(
  conversation: Conversation,
  file: FileInfo,
  number: number,
  source: string,
): Pieces<ParsedSession> {
  const { messages, record, skipped } = conversation;
  const values = messages.map(({ value }) => value);
  const id = source === "cursor" && isUuid(file.stem) ? file.stem : deriveSessionId(record, file, number, values);
  const builder = new SessionBuilder({ id, source });
  for (const { why, ...at } of skipped) builder.skip(at, why);
  builder.names.give(findName(record));
  builder.model = nameOf(record?.model);
  const reader = new ChatReader(builder);
  const [first] = messages;
  if (record !== null && first !== undefined) reader.open(record, { line: first.at.line });
  for (const { value, at } of messages) {
    yield;
    reader.add(value, at);
  }
  return builder.piece(true);
}

class ChatReader {
  readonly #ids = new Set<string>();
  /** The model's message that further items go into. */
  #answer: string | undefined;

  constructor(private readonly builder: SessionBuilder) {}

  /** Reads what a request says beside its messages: instructions, and an input that is one text. */
  open(record: JsonObject, at: Position): void {
    const { system, instructions, input } = record;
    const instruction = system ?? instructions;
    if (instruction !== undefined && instruction !== null) this.add({ role: "system", content: instruction }, at);
    if (typeof input === "string") this.add({ role: "user", content: input }, at);
    const rest = without(record, "system", "instructions", "input");
    if (Object.keys(rest).length > 0) this.builder.keep("conversation", rest, at, null);
  }

  add(value: JsonObject, at: Position): void {
    const { length } = JSON.stringify(value);
    const { id, model } = value;
    const own = typeof id === "string" && id !== "" && !this.#ids.has(id) ? id : null;
    const key = own ?? this.#newId(value);
    this.#ids.add(key);
    this.builder.model = nameOf(model) ?? this.builder.model;
    if (isItem(value)) this.#addItem(value, key, at, length);
    else this.#addMessage(value, key, at, length);
    const rest = without(value, ...READ);
    if (isItem(value) || Object.keys(rest).length === 0) return;
    this.builder.keep(key, rest, at, this.builder.last.id);
  }

  // As for every list of messages: a list whose dialect only its later messages show keeps its ids.
  #newId(value: JsonObject): string {
    const { start, last } = this.builder;
    const id = deriveId(start.id, last.id, value);
    // Equal items of one answer have the same message above them.
    return this.#ids.has(id) ? deriveId(start.id, `${id}/${this.#ids.size}`, value) : id;
  }

  #addItem(item: JsonObject, key: string, at: Position, length: number): void {
    if (isOutput(item)) {
      this.#answer = undefined;
      if (!this.#takeResult(callIdOf(item), fieldsOfOutput(item), key, length))
        this.#append("assistant", [rawPart(item)], item, key, at, length);
      return;
    }
    const hasId = (callIdOf(item) ?? item.id) !== undefined;
    const part = partOfItem(hasId ? item : { ...item, call_id: key }) ?? rawPart(item);
    this.#addToAnswer([part], item, key, at, length);
  }

  #addMessage(value: JsonObject, key: string, at: Position, length: number): void {
    const parts = this.#readParts(value, key, length);
    // All that it held were results, which are parts of other messages.
    if (parts === null) return;
    if (value.role === "assistant" && value.type === "message") {
      this.#addToAnswer(parts, value, key, at, length);
      return;
    }
    this.#answer = undefined;
    // What is not understood, a result without its call among it, is kept, but not as something that a model is told.
    const isRaw = parts.length > 0 && parts.every(({ type }) => type === "data-import");
    this.#append(isRaw ? "assistant" : (ROLES[String(value.role)] ?? "assistant"), parts, value, key, at, length);
  }

  /** The parts of a message; null where it holds nothing but results, whose calls take them. */
  #readParts(value: JsonObject, key: string, length: number): SessionMessagePart[] | null {
    const content = contentOf(value);
    const calls = callsOf(value);
    const blocks = content === undefined && calls.length > 0 ? [] : blocksOf(content);
    if (blocks === null || ROLES[String(value.role)] === undefined) return [rawPart(value)];
    if (value.role === "tool" && typeof value.tool_call_id === "string") {
      const fields = { state: "output-available", output: content ?? null };
      return this.#takeResult(value.tool_call_id, fields, key, length) ? null : [rawPart(value)];
    }
    const parts: SessionMessagePart[] = reasoningOf(value);
    let taken = 0;
    for (const [index, block] of blocks.entries()) {
      const result = resultOf(block);
      if (result !== null && this.#takeResult(result.callId, result.fields, key, length)) taken += 1;
      else if (result !== null && answerIn(parts, result.callId, result.fields)) continue;
      else parts.push(result === null ? partOfBlock(withCallId(block, `${key}-${index}`)) : rawPart(block));
    }
    parts.push(...calls);
    return taken > 0 && parts.length === 0 ? null : parts;
  }

  #takeResult(callId: unknown, fields: JsonObject, key: string, length: number): boolean {
    const caller = this.builder.messages.answer(callId, fields, length);
    if (caller !== null) addSource(caller, SOURCES, key);
    return caller !== null;
  }

  #addToAnswer(parts: SessionMessagePart[], value: JsonObject, key: string, at: Position, length: number): void {
    const open = this.builder.messages.find(this.#answer);
    if (open === undefined) {
      this.#append("assistant", parts, value, key, at, length);
      this.#answer = key;
      return;
    }
    addSource(open, SOURCES, key);
    this.builder.messages.extend(open, parts, length);
  }

  #append(
    role: string,
    parts: SessionMessagePart[],
    value: JsonObject,
    key: string,
    at: Position,
    length: number,
  ): void {
    const name = findText(value.name);
    const read = {
      id: key,
      role,
      parts,
      createdAt: findTime(value.createdAt ?? value.created_at ?? value.timestamp),
      model: role === "assistant" ? this.builder.model : undefined,
      metadata: { ...(name === undefined ? {} : { name }), [SOURCES]: { sources: [key] } },
    };
    this.builder.addMessage(read, this.builder.last, at, length);
  }
}

/** Cursor's transcripts have the content one level below, others a text in its place. */
function contentOf({ content, message, text }: JsonObject): unknown {
  if (content !== undefined) return content;
  const inner = isJsonObject(message) ? (message.content ?? message.text) : undefined;
  const found = inner ?? text;
  return typeof found === "string" ? withoutQueryTag(found) : Array.isArray(found) ? found.map(untagged) : found;
}

function untagged(block: unknown): unknown {
  if (!isJsonObject(block) || typeof block.text !== "string") return block;
  return { ...block, text: withoutQueryTag(block.text) };
}

// Cursor sets what the user wrote in a tag.
function withoutQueryTag(text: string): string {
  return /^\s*<user_query>\n?([\s\S]*?)\n?<\/user_query>\s*$/.exec(text)?.[1] ?? text;
}

function answerIn(parts: SessionMessagePart[], callId: string | undefined, fields: JsonObject): boolean {
  const index = parts.findLastIndex(({ state, toolCallId }) => state === "input-available" && toolCallId === callId);
  const part = parts[index];
  if (part === undefined) return false;
  parts[index] = { ...part, ...fields };
  return true;
}

interface ToolResult {
  callId: string | undefined;
  fields: JsonObject;
}

/** The blocks of a message's content, whatever dialect it is written in; null for what is no content. */
function blocksOf(content: unknown): readonly unknown[] | null {
  if (content === null || content === "") return [];
  return Array.isArray(content) ? content : typeof content === "string" ? [content] : null;
}

/** A block as a part. One that no dialect has is kept as it stands. */
export function partOfBlock(block: unknown): SessionMessagePart {
  if (!isJsonObject(block)) return typeof block === "string" ? { type: "text", text: block } : rawPart(block);
  const model = partOfModelContent(block);
  if (model !== null) return model;
  // Each reader keeps what it does not know as a data part.
  const read = [partsOfBlocks, partsOfItem, partsOfCompletion].flatMap((parts) => parts([block]));
  return read.find(({ type }) => !type.startsWith("data-")) ?? rawPart(block);
}

/** The result that a block holds; null for any other block. */
function resultOf(block: unknown): ToolResult | null {
  if (!isJsonObject(block)) return null;
  const { type, toolCallId, tool_use_id: id } = block;
  if (type === "tool-result" || type === "tool-error")
    return { callId: idOf(toolCallId), fields: outputOfModelResult(block) };
  return isResultBlock(block) ? { callId: idOf(id), fields: outputOfBlock(block) } : null;
}

function idOf(id: unknown): string | undefined {
  return typeof id === "string" ? id : undefined;
}
