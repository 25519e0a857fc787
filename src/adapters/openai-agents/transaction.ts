import { invalid, StemmaError } from "../../errors.js";
import { isJsonObject, type JsonObject } from "../../model/json-object.js";
import { sameJson } from "../../model/same-json.js";
import { sha256 } from "../../model/sha256.js";
import type { KeptWrite } from "../../storage/contract.js";
import type { ItemHistory } from "../item-history.js";
import { addedItems, cutItems } from "../item-writes.js";
import { toItemJson } from "./item-json.js";
import type { HistoryTransaction } from "./sdk.js";

/**
 * Makes a transaction once, however often it is asked for under its id. Errors: `INVALID_ARGUMENT`; `OPERATION_CONFLICT`
 * for an id that another transaction had; `HISTORY_CHANGED` when the history ends with other items. Then nothing changed.
 */
export async function applyTransaction(history: ItemHistory, args: HistoryTransaction<unknown>): Promise<void> {
  const { operationId } = args;
  if (typeof operationId !== "string" || operationId.trim() === "") throw invalid("operationId must be a text.");
  const given = toItemJson(args.transaction);
  const where = { kind: "message", sessionId: history.session.id } as const;
  // As the history holds it, with which it is compared.
  const transaction = history.core.store?.redaction?.json(given, where) ?? given;
  const append = itemsIn(transaction, "append_items", "items");
  const expected = itemsIn(transaction, "replace_suffix", "expectedSuffix");
  const replacement = itemsIn(transaction, "replace_suffix", "replacement");
  if (append === null && expected === null)
    throw invalid('The type of a transaction is "append_items" or "replace_suffix".');
  const records = history.scope;
  // Ids may be longer than a key may be.
  const key = `operation ${sha256(operationId)}`;
  const value = new TextEncoder().encode(sha256(canonical(transaction)));
  await history.change(async () => {
    const known = await history.core.records.get(records, key);
    if (known !== null) {
      if (sameJson([...known.value], [...value])) return [];
      const message = `Another transaction had the operation id "${operationId}". Give each an id of its own.`;
      throw new StemmaError("OPERATION_CONFLICT", { operationId }, message);
    }
    const writes =
      append !== null
        ? addedItems(history, await history.last(), append)
        : await replaceSuffix(history, expected ?? [], replacement ?? []);
    return [{ records, key, value, options: { expectedVersion: 0 } }, ...writes];
  });
}

/** The writes that put items in the place of the newest ones, on a branch of their own. */
async function replaceSuffix(
  history: ItemHistory,
  expected: readonly JsonObject[],
  replacement: readonly JsonObject[],
): Promise<KeptWrite[]> {
  const path = await history.path();
  const items = path.items.flat();
  const kept = items.length - expected.length;
  if (kept < 0 || !sameJson(items.slice(kept), expected)) {
    const message = "The history does not end with the expected items, so nothing was replaced. Read it again.";
    throw new StemmaError("HISTORY_CHANGED", { sessionId: history.session.id }, message);
  }
  return cutItems(history, path, kept, replacement);
}

function itemsIn(transaction: JsonObject, type: string, field: string): JsonObject[] | null {
  if (transaction.type !== type) return null;
  const items = transaction[field];
  if (Array.isArray(items) && items.every(isJsonObject)) return items;
  throw invalid(`${field} of a transaction is an array of items.`);
}

/** The JSON of a value, with its fields in the order of their names. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, field: unknown) =>
    isJsonObject(field) ? Object.fromEntries(Object.entries(field).sort(([a], [b]) => (a < b ? -1 : 1))) : field,
  );
}
