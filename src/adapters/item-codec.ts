import type { JsonObject } from "../model/json-object.js";
import type { SessionMessage, SessionMessagePart } from "../model/message.js";
import type { LooseResults } from "./tool-pairs.js";

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
  /** The ids of the calls in the item. */
  calls(item: JsonObject): readonly string[];
  /** What a message of these items says to anyone else. */
  partsOf(items: readonly JsonObject[]): SessionMessagePart[];
  /** The items of a message that says this, whoever wrote it. Each call among them has its result. */
  itemsOf(message: SessionMessage, loose: LooseResults): JsonObject[];
}
