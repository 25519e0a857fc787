import {
  assertText,
  invalid,
  isJsonObject,
  isSummaryMessage,
  isTooDeep,
  type JsonObject,
  readToolPart,
  type SessionMessage,
  type SessionMessagePart,
  sameJson,
} from "@stemma/model";

/** Names a transcript: a session's own, or with `subpath` that of one of its sub-agents. */
export interface ClaudeSessionKey {
  projectKey: string;
  sessionId: string;
  /** Not empty. */
  subpath?: string | undefined;
}

/** A line of a transcript. */
export interface ClaudeSessionEntry {
  type: string;
  uuid?: string;
  timestamp?: string;
  [field: string]: unknown;
}

/** A session as the lists of the SDK show it. */
export interface ClaudeSessionSummary {
  sessionId: string;
  /** Milliseconds since 1970. */
  mtime: number;
  data: JsonObject;
}

/** The `SessionStore` of `@anthropic-ai/claude-agent-sdk`, with every optional method. */
export interface ClaudeSessionStore {
  /** Adds entries, all of them or none. One whose `uuid` is known is left out. */
  append(key: ClaudeSessionKey, entries: ClaudeSessionEntry[]): Promise<void>;
  /** The entries in the order in which they were appended; null for a transcript that was never written. */
  load(key: ClaudeSessionKey): Promise<ClaudeSessionEntry[] | null>;
  /** The sessions of a project, each with the time of its last append in milliseconds since 1970. */
  listSessions(projectKey: string): Promise<{ sessionId: string; mtime: number }[]>;
  listSessionSummaries(projectKey: string): Promise<ClaudeSessionSummary[]>;
  /** Deletes a transcript; a session's with those of its sub-agents. */
  delete(key: ClaudeSessionKey): Promise<void>;
  /** The subpaths of a session that were written. */
  listSubkeys(key: { projectKey: string; sessionId: string }): Promise<string[]>;
}

/** The id of the session that holds a transcript: `claude/<projectKey>/<sessionId>[/<subpath>]`, each part as in a URL. */
export function sessionIdOf({ projectKey, sessionId, subpath }: ClaudeSessionKey): string {
  const id = projectPrefix(projectKey) + encoded(sessionId, "sessionId");
  return subpath === undefined ? id : `${id}/${encoded(subpath, "subpath")}`;
}

/** The beginning of the ids of a project's sessions. */
export function projectPrefix(projectKey: string): string {
  return `claude/${encoded(projectKey, "projectKey")}/`;
}

/** The last part of an id: the SDK's session id, or the subpath. */
export function lastPart(id: string): string {
  return decodeURIComponent(id.slice(id.lastIndexOf("/") + 1));
}

function encoded(part: unknown, name: string): string {
  assertText(part, `The ${name} of a transcript`);
  if (part === "") throw invalid(`The ${name} of a transcript must not be empty.`);
  return encodeURIComponent(part.toWellFormed());
}

/** The entry that a message came from, as its `metadata.claude` has it to give the entry back. */
interface Origin {
  /** The entry's place in the transcript. */
  readonly n: number;
  /** The entry less its uuid and the content of its message, which the message's parts hold. */
  readonly rest?: JsonObject | undefined;
  /** The content was a text, not a list of blocks. */
  readonly isText?: true | undefined;
  /** The whole entry, where the parts would not give it back. */
  readonly whole?: JsonObject | undefined;
}

export interface PlacedEntry {
  readonly n: number;
  readonly entry: ClaudeSessionEntry;
}

const MAX_ID = 1024;

/** The message that an entry becomes; null for one that is kept as it is. */
export function findMessage({ n, entry }: PlacedEntry): SessionMessage | null {
  const { uuid, ...rest } = entry;
  const { type, timestamp, message } = entry;
  if ((type !== "user" && type !== "assistant") || !isId(uuid) || !isJsonObject(message) || isTooDeep(entry))
    return null;
  const { content, ...about } = message;
  if (!isContent(content)) return null;
  const parts = partsOfContent(content);
  const isText = typeof content === "string" ? true : undefined;
  const partial: Origin = { n, rest: { ...rest, message: about }, isText };
  const origin: Origin = sameJson(rebuilt(uuid, parts, partial), entry) ? partial : { n, whole: entry };
  const dated = typeof timestamp === "string" && !Number.isNaN(Date.parse(timestamp)) ? { createdAt: timestamp } : {};
  return { id: uuid, role: type, parts, ...dated, metadata: { claude: origin } };
}

/** The entry that a message came from, and its place; null for a message of another program. */
export function findEntry({ id, parts, metadata }: SessionMessage): PlacedEntry | null {
  const origin = isJsonObject(metadata) ? metadata.claude : undefined;
  if (!isJsonObject(origin) || typeof origin.n !== "number") return null;
  const { n, whole } = origin;
  const entry = isJsonObject(whole) ? whole : rebuilt(id, parts, origin as unknown as Origin);
  return { n, entry: entry as ClaudeSessionEntry };
}

function rebuilt(uuid: string, parts: SessionMessage["parts"], { rest = {}, isText }: Origin): JsonObject {
  const content = isText ? parts.map(({ text }) => text).join("") : blocksOfParts(parts);
  return { ...rest, uuid, message: { ...(rest.message as JsonObject), content } };
}

function isId(uuid: unknown): uuid is string {
  if (typeof uuid !== "string" || uuid === "" || uuid.length > MAX_ID) return false;
  return !isSummaryMessage({ id: uuid }) && uuid.isWellFormed() && !uuid.includes("\0");
}

function isContent(content: unknown): content is string | JsonObject[] {
  if (typeof content === "string") return true;
  return Array.isArray(content) && content.every((block) => isJsonObject(block) && typeof block.type === "string");
}

type Part = SessionMessagePart & JsonObject;

/** The content of a message of Claude as parts. What a block holds beside its part's fields is kept as provider metadata. */
function partsOfContent(content: string | readonly JsonObject[]): Part[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content.map(partOfBlock);
}

/** Parts as content blocks of Claude. What only other programs have, such as steps and sources, is left out. */
function blocksOfParts(parts: readonly SessionMessagePart[]): JsonObject[] {
  return parts.map((part) => blockOfPart(part as Part)).filter((block) => block !== null);
}

function partOfBlock(block: JsonObject): Part {
  const { type, text, thinking, id, name, input, tool_use_id, content, source, ...others } = block;
  const rest = Object.keys(others).length === 0 ? {} : { providerMetadata: { claude: others } };
  if (type === "text" && typeof text === "string") return { type: "text", text, ...rest };
  if (type === "thinking" && typeof thinking === "string") return { type: "reasoning", text: thinking, ...rest };
  if (type === "tool_use" && typeof id === "string" && typeof name === "string") {
    const part = { type: "dynamic-tool", toolName: name, toolCallId: id, state: "input-available", input };
    return { ...part, callProviderMetadata: rest.providerMetadata };
  }
  if (type === "tool_result" && typeof tool_use_id === "string") {
    return { type: "tool-result", toolCallId: tool_use_id, output: content, ...rest };
  }
  if (type === "image" && isJsonObject(source) && source.type === "base64") {
    return {
      type: "file",
      mediaType: `${source.media_type}`,
      url: `data:${source.media_type};base64,${source.data}`,
      ...rest,
    };
  }
  return { type: "data-claude", data: block };
}

function blockOfPart(part: Part): JsonObject | null {
  const metadata = part.providerMetadata ?? part.callProviderMetadata;
  const { claude } = isJsonObject(metadata) ? metadata : {};
  const rest = isJsonObject(claude) ? claude : {};
  const tool = readToolPart(part);
  // What others noted of a call's result is told behind it.
  if (tool?.kind === "call" || tool?.kind === "both") {
    return { type: "tool_use", id: tool.toolCallId, name: tool.toolName, input: tool.input, ...rest };
  }
  if (tool !== null) return { type: "tool_result", tool_use_id: tool.toolCallId, content: tool.output, ...rest };
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text, ...rest };
    case "reasoning":
      return { type: "thinking", thinking: part.text, ...rest };
    case "data-claude":
      return isJsonObject(part.data) ? part.data : null;
    case "file":
      return imageBlock(part, rest);
    default:
      return null;
  }
}

function imageBlock({ url }: Part, rest: JsonObject): JsonObject | null {
  const [, mediaType, data] = (typeof url === "string" && /^data:([^;,]*);base64,(.*)$/s.exec(url)) || [];
  if (mediaType === undefined) return null;
  return { type: "image", source: { type: "base64", media_type: mediaType, data }, ...rest };
}
