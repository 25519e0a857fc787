import { BaseListChatMessageHistory } from "@langchain/core/chat_history";
import {
  type BaseMessage,
  mapChatMessagesToStoredMessages,
  mapStoredMessagesToChatMessages,
  type StoredMessage,
} from "@langchain/core/messages";
import { contentOfParts, outputOfText, partsOfContent, splitSteps, textOfOutput } from "@stemma/formats";
import type { SessionMessagePart } from "@stemma/model";
import { INTERRUPTED, isJsonObject, type JsonObject } from "@stemma/model";
import type { Session } from "@stemma/session";
import { ItemHistory } from "../item-history.js";
import type { ItemCodec } from "../item-messages.js";
import { type LooseResults, pairsOf, type ToolPair } from "../item-messages.js";
/**
 * The session as a chat message history of LangChain. `getMessages` gives back what was added, as JSON keeps it. For messages
 * of other programs it gives messages with the same content, each call with its result. Where a summary stands in the session's
 * history, it is an AI message. Every call is all or nothing, and fails as the session's own do: also with `STORE_UNSUPPORTED`
 * on a session of a `SessionProvider`.
 */
export class StemmaChatMessageHistory extends BaseListChatMessageHistory {
  lc_namespace = ["stemma", "langchain"];
  readonly #history: ItemHistory;

  /** Errors: `INVALID_ARGUMENT` for what is no session. A session of a `SessionProvider` is refused by the first call. */
  constructor(session: Session) {
    super();
    this.#history = new ItemHistory(session, langchainItems, "StemmaChatMessageHistory");
  }

  /** The visible history, oldest first. Errors: those of `session.getHistory`, and `STORE_UNSUPPORTED`. */
  async getMessages(): Promise<BaseMessage[]> {
    const items = await this.#history.read();
    return mapStoredMessagesToChatMessages(
      items.map(({ type, ...data }) => ({ type, data }) as unknown as StoredMessage),
    );
  }

  /** Adds one message. Errors: as `addMessages`. */
  async addMessage(message: BaseMessage): Promise<void> {
    await this.addMessages([message]);
  }

  /** Adds the messages, all or none. Errors: those of `session.appendAll`, and `STORE_UNSUPPORTED`. */
  override async addMessages(messages: BaseMessage[]): Promise<void> {
    const stored = mapChatMessagesToStoredMessages(messages);
    await this.#history.append(
      stored.map(({ type, data }) => JSON.parse(JSON.stringify({ ...data, type })) as JsonObject),
    );
  }

  /** Removes all messages of the session; its blocks stay. Errors: those of the store, and `STORE_UNSUPPORTED`. */
  override async clear(): Promise<void> {
    await this.#history.clear();
  }
}

/**
 * The messages of LangChain as it stores them: an item is a `StoredMessage` with its data beside its type. Each message is one
 * of ours; the results of an AI message's calls are in that message.
 */
const langchainItems: ItemCodec = {
  name: "langchain",
  roleOf: ({ type }) => (type === "human" ? "user" : type === "system" ? "system" : "assistant"),
  joins: (items, item) => items.some((each) => langchainItems.calls(each).includes(langchainItems.answers(item) ?? "")),
  answers: ({ type, tool_call_id: id }) => (type === "tool" && typeof id === "string" ? id : null),
  calls: (item) => callsOf(item).map(({ id }) => String(id)),
  partsOf,
  itemsOf({ role, parts }, loose) {
    if (role === "user") return userItems(parts, loose);
    if (role === "system") return [item("system", { content: contentOfParts(parts) ?? "" })];
    return splitSteps(parts, ({ type }) => type === "text").flatMap((step) => stepItems(step, loose));
  },
};

function partsOf(items: readonly JsonObject[]): SessionMessagePart[] {
  const results = new Map(items.map((item) => [langchainItems.answers(item), item]));
  const called = new Set(items.flatMap(langchainItems.calls));
  return items.flatMap((item): SessionMessagePart[] => {
    const answered = langchainItems.answers(item);
    if (answered !== null) return called.has(answered) ? [] : [loosePart(answered, item)];
    const calls = callsOf(item).map((call) => callPart(call, results.get(String(call.id))));
    return [...partsOfContent(item.content).filter(({ type }) => type !== "data-openai"), ...calls];
  });
}

function callsOf({ type, tool_calls: calls }: JsonObject): JsonObject[] {
  const all = type === "ai" && Array.isArray(calls) ? calls.filter(isJsonObject) : [];
  return all.filter(({ id }) => typeof id === "string");
}

function callPart({ id, name, args }: JsonObject, result: JsonObject | undefined): SessionMessagePart {
  const part = { type: "dynamic-tool", toolName: String(name), toolCallId: String(id), input: args ?? {} };
  if (result === undefined) return { ...part, state: "input-available" };
  const { content, status } = result;
  if (status === "error") return { ...part, state: "output-error", errorText: textOfOutput(content) };
  return { ...part, state: "output-available", output: outputOfText(content) ?? null };
}

function loosePart(toolCallId: string, { name, content }: JsonObject): SessionMessagePart {
  return { type: "tool-result", toolCallId, toolName: String(name ?? "tool"), output: outputOfText(content) ?? null };
}

function stepItems(step: readonly SessionMessagePart[], loose: LooseResults): JsonObject[] {
  return answerItems(contentOfParts(step), pairsOf(step, loose));
}

// Results of other formats may stand in a user's message.
function userItems(parts: readonly SessionMessagePart[], loose: LooseResults): JsonObject[] {
  const content = contentOfParts(parts);
  const results = answerItems(null, pairsOf(parts, loose));
  return content === null ? results : [...results, item("human", { content })];
}

function answerItems(content: unknown, pairs: readonly ToolPair[]): JsonObject[] {
  if (content === null && pairs.length === 0) return [];
  const tool_calls = pairs.map(toolCall);
  return [item("ai", { content: content ?? "", tool_calls, invalid_tool_calls: [] }), ...pairs.map(toolItem)];
}

function toolCall({ call: { toolCallId: id, toolName, input } }: ToolPair): JsonObject {
  const args = isJsonObject(input) ? input : { input: input ?? null };
  return { id, name: toolName ?? "tool", args, type: "tool_call" };
}

/** The result of a call; of one that has none, an error that says so. */
function toolItem({ call: { toolCallId, toolName }, result }: ToolPair): JsonObject {
  const content = result === null ? INTERRUPTED : (result.errorText ?? textOfOutput(result.output));
  const status = result === null || result.errorText !== null ? { status: "error" } : {};
  return item("tool", { content, tool_call_id: toolCallId, name: toolName ?? "tool", ...status });
}

function item(type: string, data: JsonObject): JsonObject {
  return { type, ...data, additional_kwargs: {}, response_metadata: {} };
}
