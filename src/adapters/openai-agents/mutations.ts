import type { JsonObject } from "../../model/json-object.js";
import type { ItemHistory } from "../item-history.js";
import { findItems, withItems } from "../item-messages.js";
import { callIdOf } from "./calls.js";
import { toItemJson } from "./item-json.js";
import type { HistoryRewrite } from "./sdk.js";

/**
 * Replaces calls where they stand: the first one with an id by its replacement, others with that id by nothing. Calls in
 * messages that others wrote stay as they are.
 */
export async function replaceCalls(
  history: ItemHistory,
  mutations: HistoryRewrite<unknown>["mutations"],
): Promise<void> {
  const replacements = new Map(mutations.map(({ callId, replacement }) => [callId, toItemJson(replacement)]));
  if (replacements.size === 0) return;
  await history.change(async () => {
    const replaced = new Set<string>();
    const { messages } = await history.path();
    return messages.flatMap((message) => {
      const items = findItems(history.codec, message);
      const changed = items?.flatMap((item): JsonObject[] => {
        const callId = item.type === "function_call" ? (callIdOf(item) ?? "") : "";
        const replacement = replacements.get(callId);
        if (replacement === undefined) return [item];
        if (replaced.has(callId)) return [];
        replaced.add(callId);
        return [replacement];
      });
      if (items == null || changed === undefined || changed.every((item, index) => item === items[index])) return [];
      return [{ session: history.session.id, update: withItems(history.codec, message, changed) }];
    });
  });
}
