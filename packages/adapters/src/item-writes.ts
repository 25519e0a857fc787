import type { JsonObject, SessionMessage } from "@stemma/model";
import type { KeptWrite } from "@stemma/store";
import type { ItemCodec } from "./item-messages.js";
import { findItems, toMessages, withItems } from "./item-messages.js";

/** A session's visible history and its items. */
export interface ItemPath {
  /** The visible messages, oldest first. */
  readonly messages: readonly SessionMessage[];
  /** The items of each. */
  readonly items: readonly JsonObject[][];
  /** The active leaf; null for none. */
  readonly leafId: string | null;
}

/** Whose items, and how messages hold them. */
interface ItemSession {
  readonly session: { readonly id: string };
  readonly codec: ItemCodec;
}

interface ItemPlace {
  readonly parent?: string | null;
  readonly expectedLeaf?: string | null;
}

/** The writes that add items at the active leaf, or where `place` says; `last` is the message before them. */
export function addedItems(
  { codec, session: { id: session } }: ItemSession,
  last: SessionMessage | null,
  items: readonly JsonObject[],
  place: ItemPlace = {},
): KeptWrite[] {
  const known = last === null ? [] : (findItems(codec, last) ?? []);
  const answered = new Set(known.map((item) => codec.answers(item)));
  const open = new Set(known.flatMap((item) => codec.calls(item)).filter((id) => !answered.has(id)));
  const end = items.findIndex((item) => !open.delete(codec.answers(item) ?? ""));
  const answers = end === -1 ? items : items.slice(0, end);
  const others = toMessages(codec, items.slice(answers.length));
  const writes: KeptWrite[] = others.length === 0 ? [] : [{ session, append: others, ...place }];
  if (last === null || answers.length === 0) return writes;
  return [{ session, update: withItems(codec, last, [...known, ...answers]) }, ...writes];
}

/** The writes that leave the first `kept` items of a path and put others behind them, as a branch where that cuts any. */
export function cutItems(
  history: ItemSession,
  { messages, items, leafId }: ItemPath,
  kept: number,
  others: readonly JsonObject[],
): KeptWrite[] {
  const { codec, session } = history;
  let whole = 0;
  let left = kept;
  for (; whole < items.length && (items[whole]?.length ?? 0) <= left; whole += 1) left -= items[whole]?.length ?? 0;
  const last = messages[whole - 1] ?? null;
  const place = { parent: last?.id ?? null, expectedLeaf: leafId };
  const rest = items[whole]?.slice(0, left) ?? [];
  if (rest.length > 0) return [{ session: session.id, append: toMessages(codec, [...rest, ...others]), ...place }];
  const writes = addedItems(history, last, others, place);
  const moves = whole < messages.length && !writes.some((write) => "append" in write);
  return moves ? [...writes, { session: session.id, activeLeaf: place.parent, expectedLeaf: leafId }] : writes;
}
