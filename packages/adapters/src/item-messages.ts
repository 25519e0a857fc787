import type { SessionMessage, SessionMessagePart } from "@stemma/model";
import { isJsonObject, type JsonObject, readToolPart, sameJson, type ToolPart } from "@stemma/model";

/** The part of an item that its parts do not give back, or the whole of it. */
type SavedItem = { readonly rest: JsonObject } | { readonly whole: JsonObject };

/** Items as messages with new ids, in their order. */
export function toMessages(codec: ItemCodec, items: readonly JsonObject[]): SessionMessage[] {
  const groups: JsonObject[][] = [];
  for (const item of items) {
    const group = groups.at(-1);
    if (group !== undefined && codec.joins(group, item)) group.push(item);
    else groups.push([item]);
  }
  return groups.map((group) => {
    const message = { id: crypto.randomUUID(), role: codec.roleOf(group[0] as JsonObject), parts: [] };
    return withItems(codec, message, group);
  });
}

/** The message with these items instead of its own. */
export function withItems(codec: ItemCodec, message: SessionMessage, items: readonly JsonObject[]): SessionMessage {
  const { metadata, ...own } = { ...message, parts: codec.partsOf(items) };
  const { [codec.name]: _kept, ...others } = isJsonObject(metadata) ? metadata : {};
  const saved = keep(codec.itemsOf(own, new Map()), items);
  const fields = saved === null ? others : { ...others, [codec.name]: { items: saved } };
  return Object.keys(fields).length === 0 ? own : { ...own, metadata: fields };
}

/** The items of each message: as they were given where the codec's adapter wrote it, otherwise as its parts say. */
export function itemsOfEach(codec: ItemCodec, messages: readonly SessionMessage[]): JsonObject[][] {
  const given = messages.map((message) => findItems(codec, message));
  const loose = looseResults(messages.filter((_message, index) => given[index] === null));
  return messages.map((message, index) => given[index] ?? codec.itemsOf(message, loose));
}

/** The items that say all that the message says; null where it says more: others wrote it, or it was edited since. */
export function findItems(codec: ItemCodec, message: SessionMessage): JsonObject[] | null {
  const derived = codec.itemsOf(message, new Map());
  const saved = isJsonObject(message.metadata) ? message.metadata[codec.name] : undefined;
  const isSaved = isJsonObject(saved) && Array.isArray(saved.items);
  const items = isSaved ? restore(derived, saved.items as SavedItem[]) : derived;
  return sameJson(codec.partsOf(items), message.parts) ? items : null;
}

/** Null where the parts give back the items as they are. */
function keep(derived: readonly JsonObject[], items: readonly JsonObject[]): SavedItem[] | null {
  if (sameJson(derived, items)) return null;
  let next = 0;
  const saved = items.map((item): SavedItem => {
    const base = derived[next];
    if (base === undefined || base.type !== item.type || Object.keys(base).some((field) => !(field in item))) {
      return { whole: item };
    }
    next += 1;
    const rest = Object.entries(item).filter(([field, value]) => !sameJson(base[field], value));
    return { rest: Object.fromEntries(rest) };
  });
  return sameJson(restore(derived, saved), items) ? saved : items.map((whole) => ({ whole }));
}

function restore(derived: readonly JsonObject[], saved: readonly SavedItem[]): JsonObject[] {
  let next = 0;
  return saved.map((item) => {
    if ("whole" in item) return item.whole;
    next += 1;
    return { ...derived[next - 1], ...item.rest };
  });
}

/**
 * How the items of a framework become messages, and messages its items. An item is JSON here; a framework that has more
 * than JSON encodes it before.
 */
export interface ItemCodec {
  /** The field of a message's metadata that keeps what the parts cannot say. */
  readonly name: string;
  /** The role of the message that begins with this item. */
  roleOf(item: JsonObject): string;
  /** True when `item` belongs to the message that holds `items`, of which there is one at least. */
  joins(items: readonly JsonObject[], item: JsonObject): boolean;
  /** The id of the call that the item is the result of, else null. */
  answers(item: JsonObject): string | null;
  calls(item: JsonObject): readonly string[];
  /** The parts that show these items to any other program. */
  partsOf(items: readonly JsonObject[]): SessionMessagePart[];
  /** The items of a message that says this, whoever wrote it. Each call among them has its result. */
  itemsOf(message: SessionMessage, loose: LooseResults): JsonObject[];
}

const DENIED = "This call was denied. It did not run.";

type ToolResult = Pick<ToolPart, "output" | "errorText">;

/** A call, and its result; null where it has none. */
export interface ToolPair {
  readonly call: ToolPart;
  readonly result: ToolResult | null;
}

/** Results that stand apart from their calls, by the id of the call. Whoever tells one with its call takes it out. */
export type LooseResults = Map<string, ToolResult>;

/** The results among the messages that stand in parts of their own. */
export function looseResults(messages: readonly SessionMessage[]): LooseResults {
  const loose: LooseResults = new Map();
  for (const part of messages.flatMap(({ parts }) => parts)) {
    const tool = readToolPart(part);
    if (tool?.kind === "result" && tool.toolCallId !== null) loose.set(tool.toolCallId, tool);
  }
  return loose;
}

/** The calls among the parts, each with its result. A result without a call is told as a call as well. */
export function pairsOf(parts: readonly SessionMessagePart[], loose: LooseResults): ToolPair[] {
  return parts.flatMap((part) => {
    const call = readToolPart(part);
    if (call === null || call.toolCallId === null) return [];
    const apart = loose.get(call.toolCallId) ?? null;
    loose.delete(call.toolCallId);
    if (call.state === "output-denied") return [{ call, result: { output: undefined, errorText: DENIED } }];
    if (call.kind === "both") return [{ call, result: call }];
    // The result of a call that came before was told with it.
    return call.kind === "result" && apart === null ? [] : [{ call, result: apart }];
  });
}
