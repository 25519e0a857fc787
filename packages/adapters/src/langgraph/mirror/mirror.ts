import type { BaseMessage } from "@langchain/core/messages";
import {
  assertMessage,
  cut,
  givenMessage,
  isJsonObject,
  type JsonObject,
  type SessionMessage,
  type SessionMessagePart,
  sameJson,
  sha256,
  storableText,
} from "@stemma/model";
import type { KeptWrite, SessionStore } from "@stemma/store";

/** The messages of the checkpoint before, as they stand in the session. */
export interface MirroredMessages {
  /** The session's message that the last of them is; null for none. */
  readonly leaf: string | null;
  /** True when the new list begins with all of them, or with all but some at the front. */
  readonly isBeginning: boolean;
  /** With how many of them it begins then. */
  readonly count: number;
  load(): Promise<readonly BaseMessage[]>;
}

export interface MirrorPlan {
  readonly writes: readonly KeptWrite[];
  /** The session's message that the last message is; null for none. */
  readonly leaf: string | null;
}

interface PlanOptions {
  /** ISO time that new messages get. */
  readonly createdAt: string;
  /** Look up whether the session has the messages. Without it the plan may fail with `MESSAGE_EXISTS`. */
  readonly looksUp: boolean;
}

/**
 * Plans the writes that make the session's active branch end with `messages`. What was added is appended. A message that was
 * changed, and what follows one that was taken away, begins a branch; what was taken away at the front stays in the history.
 * Errors: those of the session's reads. The plan fails with `MESSAGE_EXISTS`, `PARENT_NOT_FOUND` or `MESSAGE_NOT_FOUND` where
 * another program wrote to the session meanwhile.
 */
export async function planMirror(
  session: SessionStore,
  messages: readonly BaseMessage[],
  before: MirroredMessages | null,
  { createdAt, looksUp }: PlanOptions,
): Promise<MirrorPlan> {
  const { anchor, fresh } = await findAnchor(session, messages, before);
  // What goes on behind the messages before it is nearly always new.
  const isNew = !looksUp && (before === null || before.isBeginning);
  const { known, added } = await placeMessages(isNew ? null : session, fresh, anchor, createdAt);
  const parent = known ?? anchor;
  const leaf = added.at(-1)?.id ?? parent;
  if (added.length > 0) return { leaf, writes: [{ session: session.id, append: added, parent, onlyNew: true }] };
  const stays = before?.isBeginning === true && known === null;
  return { leaf, writes: stays ? [] : [{ session: session.id, activeLeaf: leaf }] };
}

// The message that the first new one follows, and the new ones.
async function findAnchor(session: SessionStore, messages: readonly BaseMessage[], before: MirroredMessages | null) {
  if (before?.isBeginning) return { anchor: before.leaf, fresh: messages.slice(before.count) };
  const [first] = messages;
  const known = before === null || first === undefined ? [] : await before.load();
  const start = known.findIndex((message) => first !== undefined && messageIdOf(message) === messageIdOf(first));
  if (before === null || start === -1) return { anchor: null, fresh: messages };
  const mirrored = known.slice(start);
  const differs = messages.findIndex((message, index) => !isSame(message, mirrored[index]));
  const same = differs === -1 ? messages.length : differs;
  return { anchor: await ancestor(session, before.leaf, mirrored.length - same), fresh: messages.slice(same) };
}

async function ancestor(session: SessionStore, leaf: string | null, steps: number): Promise<string | null> {
  if (leaf === null || steps === 0) return leaf;
  let left = steps;
  for await (const { id } of session.stream({ leafId: leaf, newestFirst: true, summaries: false })) {
    if (left === 0) return id;
    left -= 1;
  }
  return null;
}

/**
 * The messages below `anchor`: the last one that stands there already, and those that are to be added. One whose id stands
 * elsewhere, or with another content, gets an id of its place and content, so the same message at the same place is always
 * the same. Without a session every message counts as new.
 */
async function placeMessages(
  session: SessionStore | null,
  messages: readonly BaseMessage[],
  anchor: string | null,
  createdAt: string,
): Promise<{ known: string | null; added: SessionMessage[] }> {
  const added: SessionMessage[] = [];
  const taken = new Set<string>();
  let known: string | null = null;
  let parent = anchor;
  for (const message of messages) {
    const given = sessionMessageOf(message, createdAt);
    let { id } = given;
    let place = taken.has(id) ? "taken" : await placeOf(session, given, parent);
    for (let others = 0; place === "taken"; others += 1) {
      id = `${cut(given.id, 0, 900)}~${placeDigest(given, parent, others)}`;
      place = await placeOf(session, { ...given, id }, parent);
    }
    taken.add(id);
    if (place === "here" && added.length === 0) known = id;
    else added.push({ ...given, id });
    parent = id;
  }
  return { known, added };
}

// Whether nothing has the id, this message at this place, or anything else.
async function placeOf(
  session: SessionStore | null,
  message: SessionMessage,
  parent: string | null,
): Promise<"free" | "here" | "taken"> {
  const stored = (await session?.message(message.id)) ?? null;
  if (session === null || stored === null) return "free";
  if (!sameJson({ ...stored, createdAt: undefined }, { ...message, createdAt: undefined })) return "taken";
  return ((await session.parent(message.id))?.id ?? null) === parent ? "here" : "taken";
}

function isSame(a: BaseMessage, b: BaseMessage | undefined): boolean {
  if (b === undefined || a === b) return a === b;
  return sameJson(sessionMessageOf(a, ""), sessionMessageOf(b, ""));
}

// Another one where the ids of those before belong to messages that say something else, because they were edited.
function placeDigest({ createdAt: _, ...message }: SessionMessage, parent: string | null, others: number): string {
  const content = others === 0 ? [parent, message] : [parent, message, others];
  return sha256(JSON.stringify(content)).slice(0, 16);
}

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
function sessionMessageOf(message: BaseMessage, createdAt: string): SessionMessage {
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
function messageIdOf(message: BaseMessage): string {
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
