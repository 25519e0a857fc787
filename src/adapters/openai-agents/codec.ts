import { splitSteps } from "../../formats/steps.js";
import { isJsonObject, type JsonObject } from "../../model/json-object.js";
import type { SessionMessage, SessionMessagePart } from "../../model/message.js";
import type { ItemCodec } from "../item-codec.js";
import { type LooseResults, pairsOf } from "../tool-pairs.js";
import { answeredIdOf, callIdOf, callItem, callPart, hostedPart, loosePart, resultItem } from "./calls.js";
import { outputOf, partsOfContent, userContentOf } from "./content.js";

/**
 * The items of the OpenAI Agents SDK. Each message of a user or the system is one message; an answer's message holds what the
 * model put out at once, with the results of its calls.
 */
export const agentItems: ItemCodec = {
  name: "openaiAgents",
  roleOf: (item) => (item.role === "user" || item.role === "system" ? item.role : "assistant"),
  joins(items, item) {
    const isOutput = [...items.slice(0, 1), item].every((each) => agentItems.roleOf(each) === "assistant");
    return isOutput && (answeredIdOf(item) !== null || items.every((each) => answeredIdOf(each) === null));
  },
  answers: answeredIdOf,
  calls(item) {
    const id = callIdOf(item);
    return id === null ? [] : [id];
  },
  partsOf,
  itemsOf(message, loose) {
    const { role, parts } = message;
    if (role === "user") return userItems(message, loose);
    if (role === "system") return [{ type: "message", role, content: textOf(parts) }];
    const steps = splitSteps(parts, (part) => part.type === "text");
    return steps.flatMap((step) => stepItems(step, loose));
  },
};

function partsOf(items: readonly JsonObject[]): SessionMessagePart[] {
  const results = new Map(
    items.flatMap((item) => {
      const id = answeredIdOf(item);
      return id === null ? [] : [[id, item] as const];
    }),
  );
  const calls = new Set(items.map(callIdOf));
  return items.flatMap((item, index) => {
    const callId = callIdOf(item);
    if (callId !== null) return callPart(item, results.get(callId));
    const answered = answeredIdOf(item);
    if (answered !== null) return calls.has(answered) ? [] : loosePart(item);
    if (item.type === "hosted_tool_call") return hostedPart(item, index);
    if (item.type === "reasoning") return reasoningParts(item);
    return item.type === undefined || item.type === "message" ? partsOfContent(item.content) : [];
  });
}

function reasoningParts({ content, rawContent }: JsonObject): SessionMessagePart[] {
  const blocks = [content, rawContent].find((each) => Array.isArray(each) && each.length > 0);
  const texts = Array.isArray(blocks) ? blocks.filter(isJsonObject).map(({ text }) => text) : [];
  return texts.flatMap((text) => (typeof text === "string" ? { type: "reasoning", text } : []));
}

// Results of other formats may stand in a user's message.
function userItems({ parts }: SessionMessage, loose: LooseResults): JsonObject[] {
  const results = toolItems(parts, loose);
  const content = userContentOf(parts);
  const isEmpty = Array.isArray(content) && content.length === 0;
  return isEmpty ? results : [...results, { type: "message", role: "user", content }];
}

function stepItems(step: readonly SessionMessagePart[], loose: LooseResults): JsonObject[] {
  const content = step.filter(({ type }) => type === "text").map(outputOf);
  const message = { type: "message", role: "assistant", status: "completed", content };
  return [...(content.length === 0 ? [] : [message]), ...toolItems(step, loose)];
}

/** The calls among the parts, then the result of each. */
function toolItems(parts: readonly SessionMessagePart[], loose: LooseResults): JsonObject[] {
  const pairs = pairsOf(parts, loose);
  return [...pairs.map(callItem), ...pairs.map(resultItem)];
}

function textOf(parts: readonly SessionMessagePart[]): string {
  return parts.flatMap(({ type, text }) => (type === "text" ? [text ?? ""] : [])).join("\n");
}
