import {
  forEachYielding,
  isJsonObject,
  isTooDeep,
  type JsonObject,
  metadataOfFolder,
  nameOf,
  type Pieces,
  type SessionMessagePart,
} from "@stemma/model";
import type { Conversation } from "../../conversations.js";
import { deriveId, deriveSessionId, findName } from "../../identity.js";
import { without } from "../../origin.js";
import { addSource, type Place, SessionBuilder } from "../../session-builder.js";
import {
  type FileInfo,
  findTime,
  type ImportFormat,
  type ParsedSession,
  type Position,
  type Skipped,
  TOO_DEEP,
  tokensOf,
} from "../../stemma/session-file.js";
import { rawPart } from "../../unread.js";
import { isGeminiPart } from "../chat/chat-dialect.js";
import { type ExportedEntry, piecesOfTree } from "../exported-tree.js";

/** Sessions of Gemini CLI: one object with all messages, or a line for the session and one for each message and change. */
export const gemini: ImportFormat = {
  name: "gemini",
  about: "Gemini CLI sessions (JSON or JSONL), from ~/.gemini/tmp/*/chats",
  recognises: isStart,
  async *read(items) {
    let session = null as GeminiSession | null;
    let early: Skipped[] = [];
    for await (const item of items) {
      if (item.kind === "listEnd") continue;
      const { at } = item;
      const value = item.kind === "value" ? item.value : null;
      if (isStart(value) && (session === null || "messages" in value)) {
        if (session !== null) yield* session.pieces();
        session = new GeminiSession(value.sessionId);
        await session.describe(value, at);
        for (const { why, ...place } of early) session.builder.skip(place, why);
        early = [];
      } else if (item.kind === "value" && isJsonObject(value) && session !== null) await session.add(value, at);
      else {
        const why = item.kind === "problem" ? item.why : "it stands before a session, or is no object";
        if (session === null) early.push({ ...at, why });
        else session.builder.skip(at, why);
      }
    }
    if (session !== null) yield* session.pieces();
  },
};

function isStart(value: unknown): value is Record<string, unknown> {
  if (!isJsonObject(value) || typeof value.sessionId !== "string" || value.sessionId === "") return false;
  return (
    typeof value.projectHash === "string" || (Array.isArray(value.messages) && typeof value.startTime === "string")
  );
}

/** Types of messages that Gemini CLI shows its user, and no model. */
const NOTICES = ["info", "warning", "error"];

/** One session of Gemini CLI. A message that comes again takes its own place; a rewind leads back to before a message. */
class GeminiSession {
  readonly builder: SessionBuilder;
  readonly #entries = new Map<string, ExportedEntry>();
  /** The messages that the conversation stands at, and where each is among them. */
  #path: string[] = [];
  #index = new Map<string, number>();

  constructor(id: unknown) {
    this.builder = new SessionBuilder({ id: String(id), source: "gemini" });
  }

  async add(record: JsonObject, at: Position): Promise<void> {
    const { $rewindTo: target, $set: changes } = record;
    if (isTooDeep(record)) this.builder.skip(at, TOO_DEEP);
    else if (typeof target === "string") this.#rewind(target, at);
    else if (isJsonObject(changes)) await this.describe(changes, at);
    else if (typeof record.id === "string") this.#addMessage(record, at);
    else if (typeof record.sessionId === "string") await this.describe(record, at);
    else this.builder.skip(at, "neither a message nor a change of the session");
  }

  pieces(): AsyncGenerator<ParsedSession> {
    return piecesOfTree(this.builder, [...this.#entries.values()], this.#path.at(-1), (entry, above, length) =>
      this.#read(entry, above, length),
    );
  }

  /** Reads what the session is about. A change can bring all messages anew. */
  async describe(changes: JsonObject, at: Position): Promise<void> {
    const { messages, summary, directories } = changes;
    this.builder.names.give(summary);
    this.builder.describe(Array.isArray(directories) ? metadataOfFolder(directories[0]) : null);
    this.builder.keep(`line-${at.line}`, without(changes, "messages"), at, null);
    if (!Array.isArray(messages)) return;
    this.#goTo(0);
    await forEachYielding(messages.entries(), ([index, message]) => {
      const place = { ...at, path: `${at.path ?? "$"}.messages[${index}]` };
      if (isTooDeep(message)) this.builder.skip(place, TOO_DEEP);
      else if (isJsonObject(message) && typeof message.id === "string") this.#addMessage(message, place);
      else this.builder.skip(place, "not a message: it has no id");
    });
  }

  #addMessage(source: JsonObject, at: Position): void {
    const id = String(source.id);
    const known = this.#entries.get(id);
    const parentId = known === undefined ? (this.#path.at(-1) ?? null) : known.parentId;
    this.#entries.set(id, { id, parentId, source, at: known?.at ?? at });
    if (this.#index.has(id)) return;
    this.#index.set(id, this.#path.length);
    this.#path.push(id);
  }

  #rewind(target: string, at: Position): void {
    const index = this.#index.get(target);
    if (index === undefined) this.builder.skip(at, "it leads back to a message that is not there");
    else this.#goTo(index);
  }

  #goTo(index: number): void {
    for (const id of this.#path.splice(index)) this.#index.delete(id);
  }

  #read({ id, source, at }: ExportedEntry, above: Place, length: number): Place {
    const { type, model, timestamp } = source;
    const isSpoken = type === "user" || type === "gemini";
    if (!isSpoken) {
      if (!NOTICES.includes(String(type))) this.builder.notUnderstood(at, `a message of the type "${String(type)}"`);
      this.builder.keep(id, source, at, above.id, String(type));
      return above;
    }
    const parts = partsOf(source, id);
    this.#count(source);
    const read = {
      id,
      role: type === "user" ? "user" : "assistant",
      parts,
      createdAt: findTime(timestamp),
      model: type === "gemini" ? nameOf(model) : undefined,
      metadata: { imported: { sources: sourcesOf(id, parts) } },
    };
    const place = this.builder.addMessage(read, above, at, length);
    this.builder.keep(id, without(source, "content", "toolCalls", "thoughts"), at, id);
    return place;
  }

  #count({ tokens, timestamp, model }: JsonObject): void {
    if (!isJsonObject(tokens)) return;
    const used = {
      inputTokens: tokensOf(tokens.input) + tokensOf(tokens.tool),
      outputTokens: tokensOf(tokens.output) + tokensOf(tokens.thoughts),
      cost: 0,
    };
    this.builder.usage.add(findTime(timestamp)?.slice(0, 10), nameOf(model) ?? "", used, 1);
  }
}

function partsOf({ content, thoughts, toolCalls }: JsonObject, id: string): SessionMessagePart[] {
  const calls: unknown[] = Array.isArray(toolCalls) ? toolCalls : [];
  const said = partList(content).map((part, index) => partOfGemini(part, `${id}-${index}`));
  return [
    ...(Array.isArray(thoughts) ? thoughts.map(partOfThought) : []),
    // Calls that are listed with their results stand there alone.
    ...(calls.length === 0 ? said : said.filter(({ type }) => type !== "dynamic-tool")),
    ...calls.map(partOfCall),
    ...(content === undefined && calls.length === 0 && thoughts === undefined ? [rawPart({ id })] : []),
  ];
}

function partOfThought(thought: unknown): SessionMessagePart {
  const { subject, description }: JsonObject = isJsonObject(thought) ? thought : {};
  const texts = [subject, description].filter((text) => typeof text === "string" && text !== "");
  return texts.length === 0 ? rawPart(thought) : { type: "reasoning", text: texts.join("\n\n") };
}

function partOfCall(call: unknown): SessionMessagePart {
  if (!isJsonObject(call) || typeof call.name !== "string") return rawPart(call);
  const { id, name, args, result, status } = call;
  const toolCallId = typeof id === "string" && id !== "" ? id : name;
  const part = { type: "dynamic-tool", toolName: name, toolCallId, state: "input-available", input: args ?? {} };
  if (result === undefined || result === null) {
    const isEnded = status === "error" || status === "cancelled";
    return isEnded ? { ...part, state: "output-error", errorText: String(call.resultDisplay ?? status) } : part;
  }
  const response = partList(result)
    .map(responseOf)
    .find((each) => each !== null);
  return { ...part, ...outputOfResponse(response?.response ?? result) };
}

// A message that has more of these than when it was stored has grown.
function sourcesOf(id: string, parts: readonly SessionMessagePart[]): string[] {
  return parts.flatMap(({ state }, index) =>
    state === undefined || state === "input-available"
      ? [`${id}/${index}`]
      : [`${id}/${index}`, `${id}/${index}/output`],
  );
}

/** The content of a message as a list of Gemini's parts: it may be one of them, or a text. */
function partList(content: unknown): readonly unknown[] {
  if (content === undefined || content === null || content === "") return [];
  return Array.isArray(content) ? content : [content];
}

/** A part of Gemini's as one of ours; `callId` is for a call that has no id. */
function partOfGemini(part: unknown, callId: string): SessionMessagePart {
  if (typeof part === "string") return { type: "text", text: part };
  if (!isJsonObject(part)) return rawPart(part);
  const { text, thought, thoughtSignature, functionCall, inlineData, fileData, executableCode: code } = part;
  const signed = typeof thoughtSignature === "string" ? { google: { thoughtSignature } } : null;
  if (typeof text === "string") {
    const read = { type: thought === true ? "reasoning" : "text", text };
    return signed === null ? read : { ...read, providerMetadata: signed };
  }
  if (isJsonObject(functionCall) && typeof functionCall.name === "string") {
    const { id, name, args } = functionCall;
    const toolCallId = typeof id === "string" && id !== "" ? id : callId;
    const call = { type: "dynamic-tool", toolName: name, toolCallId, state: "input-available", input: args ?? {} };
    return signed === null ? call : { ...call, callProviderMetadata: signed };
  }
  if (isJsonObject(inlineData) && typeof inlineData.data === "string") {
    const mediaType = String(inlineData.mimeType ?? "application/octet-stream");
    return { type: "file", mediaType, url: `data:${mediaType};base64,${inlineData.data}` };
  }
  if (isJsonObject(fileData) && typeof fileData.fileUri === "string")
    return { type: "file", mediaType: String(fileData.mimeType ?? "application/octet-stream"), url: fileData.fileUri };
  if (isJsonObject(code) && typeof code.code === "string") return { type: "text", text: code.code };
  const result = part.codeExecutionResult;
  if (isJsonObject(result) && typeof result.output === "string") return { type: "text", text: result.output };
  return rawPart(part);
}

/** The result of a tool as fields of its part: the response of a `functionResponse`, else what there is. */
function outputOfResponse(response: unknown): JsonObject {
  if (!isJsonObject(response)) return { state: "output-available", output: response ?? null };
  const { output, error } = response;
  if (error !== undefined && output === undefined)
    return { state: "output-error", errorText: typeof error === "string" ? error : JSON.stringify(error) };
  return { state: "output-available", output: output ?? response };
}

/** The `functionResponse` that a part is; null for any other. */
function responseOf(part: unknown): JsonObject | null {
  return isGeminiPart(part) && isJsonObject(part.functionResponse) ? part.functionResponse : null;
}

const ROLES: Readonly<Record<string, string>> = {
  user: "user",
  model: "assistant",
  function: "assistant",
  system: "system",
};

/** Reads the contents of a request to Gemini's interface: `{ role, parts }`. A response goes into the part of its call. */
export function* readGeminiContents(conversation: Conversation, file: FileInfo, number: number): Pieces<ParsedSession> {
  const { messages, record, skipped } = conversation;
  const values = messages.map(({ value }) => value);
  const builder = new SessionBuilder({ id: deriveSessionId(record, file, number, values), source: "gemini" });
  for (const { why, ...at } of skipped) builder.skip(at, why);
  builder.names.give(findName(record));
  builder.model = nameOf(record?.model);
  /** Calls without a result, by name. */
  const waiting = new Map<string, string[]>();
  const instruction = record?.systemInstruction ?? record?.system_instruction;
  const system = { role: "system", parts: isJsonObject(instruction) ? instruction.parts : instruction };
  const [first] = messages;
  const all =
    instruction === undefined || first === undefined ? messages : [{ value: system, at: first.at }, ...messages];
  for (const [n, { value, at }] of all.entries()) {
    yield;
    const id = deriveId(builder.start.id, `${builder.last.id}/${n}`, value);
    const { length } = JSON.stringify(value);
    const parts: SessionMessagePart[] = value.parts === undefined ? [rawPart(value)] : [];
    let taken = 0;
    for (const [index, part] of partList(value.parts).entries()) {
      const response = responseOf(part);
      const callId = response === null ? null : (response.id ?? waiting.get(String(response.name))?.shift());
      const caller =
        response === null ? null : builder.messages.answer(callId, outputOfResponse(response.response), length);
      if (caller !== null) {
        addSource(caller, "imported", id);
        taken += 1;
        continue;
      }
      const read = response === null ? partOfGemini(part, `${id}-${index}`) : rawPart(part);
      parts.push(read);
      if (read.type !== "dynamic-tool") continue;
      const calls = waiting.get(String(read.toolName));
      if (calls === undefined) waiting.set(String(read.toolName), [String(read.toolCallId)]);
      else calls.push(String(read.toolCallId));
    }
    if (taken > 0 && parts.length === 0) continue;
    const role = ROLES[String(value.role)] ?? "assistant";
    builder.addMessage({ id, role, parts, metadata: { imported: { sources: [id] } } }, builder.last, at, length);
  }
  return builder.piece(true);
}
