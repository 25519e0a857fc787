import type { JsonObject } from "../model/json-object.js";
import type { SessionMessage } from "../model/message.js";
import type { OriginEntry } from "./origin.js";
import type { Position } from "./session-file.js";

/** An entry in pi's tree. */
export interface Node {
  entry: JsonObject;
  parent: Node | null;
  place: Place | null;
  /** True when it became a message, or a part of one. */
  isMessage: boolean;
}

/** Where a path stands after an entry: at a message, with so many of its calls answered. Null before the first message. */
export interface Place {
  variant: Variant;
  answered: number;
}

/** One of our messages. An assistant's has more than one when branches answer its calls differently. */
export interface Variant {
  message: SessionMessage;
  at: Position;
  parent: Variant | null;
  /** The entry it was made of. */
  origin: Node;
  entries: OriginEntry[];
  /** Indexes of the parts whose results came, in order. */
  answered: number[];
  /** True once a message hangs below: a result that comes now belongs to another branch. */
  sealed: boolean;
}

/** The message with the first `answered` of its answers only, as its copy with this number. */
export function copyOf(variant: Variant, answered: number, number: number): Variant {
  const message = structuredClone(variant.message);
  const undone = variant.answered.slice(answered);
  for (const index of undone) {
    const { output: _, errorText: __, ...part } = message.parts[index] ?? { type: "dynamic-tool" };
    message.parts[index] = { ...part, state: "input-available" };
  }
  const end = variant.entries.findIndex(({ part }) => part !== undefined && undone.includes(part));
  const entries = structuredClone(end === -1 ? variant.entries : variant.entries.slice(0, end));
  message.id = `${variant.message.id.replace(/~\d+$/, "")}~${number}`;
  message.metadata = { pi: { entries } };
  return { ...variant, message, entries, answered: variant.answered.slice(0, answered), sealed: false };
}

/** The messages that a compaction stands for: in pi everything on its path before `kept`, the first entry that it keeps. */
export function coveredBy(node: Node, kept: Node | null | undefined): readonly Variant[] {
  const above: Variant[] = [];
  for (let variant = node.place?.variant ?? null; variant !== null; variant = variant.parent) above.push(variant);
  above.reverse();
  let firstKept: Node | null = null;
  let at = node.parent;
  for (; at !== null && at !== kept; at = at.parent) if (at.isMessage) firstKept = at;
  if (at?.isMessage) firstKept = at;
  const origin = at === null ? null : firstKept?.place?.variant.origin;
  const end = above.findIndex((variant) => variant.origin === origin);
  return end === -1 ? above : above.slice(0, end);
}
