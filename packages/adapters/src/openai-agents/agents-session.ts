import { invalid, isJsonObject, type JsonObject, StemmaError, sameJson, sha256 } from "@stemma/model";
import type { Session } from "@stemma/session";
import type { KeptWrite } from "@stemma/store";
import { addedItems, cutItems, ItemHistory } from "../item-history.js";
import { findItems, withItems } from "../item-messages.js";
import { agentItems, callIdOf, fromItemJson, toItemJson } from "./codec.js";

/**
 * A `Session` of the OpenAI Agents SDK, with what the SDK asks for where a session has it. An `Item` is an `AgentInputItem` of
 * the SDK, if you name it.
 */
// biome-ignore lint/suspicious/noExplicitAny: an item can be given to the SDK, whose types this package does not need.
export interface OpenaiAgentsSession<Item = any> extends SdkSession<Item> {
  /**
   * Makes the items the history, as a new root. The messages before them stay stored on a branch of their own.
   * Errors: `INVALID_ARGUMENT` for an item that is neither JSON nor bytes.
   */
  replaceHistoryWithCompaction(items: Item[]): Promise<void>;
}

/**
 * The session as the `session` of a run of the OpenAI Agents SDK. `getItems` gives back what `addItems` was given, apart from
 * fields that are undefined, and of messages that others wrote the items that say the same, each call with its result. Where our summary
 * stands in the history, it is a message of the assistant. `popItem` moves the active leaf back: the item stays
 * stored. Every call is all or nothing, and fails as the session's own do: also with `INVALID_ARGUMENT` for an item that is
 * neither JSON nor bytes, and `STORE_UNSUPPORTED` on a session of a `SessionProvider`.
 * Errors: `INVALID_ARGUMENT` for what is no session.
 */
// biome-ignore lint/suspicious/noExplicitAny: as above.
export function openaiAgentsSession<Item = any>(session: Session): OpenaiAgentsSession<Item> {
  const history = new ItemHistory(session, agentItems, "openaiAgentsSession()");
  return {
    getSessionId: async () => session.id,
    async getItems(limit) {
      if (limit !== undefined && !Number.isInteger(limit)) {
        throw invalid("The limit of getItems() must be a whole number.", { limit });
      }
      return (await history.read(limit)).map(itemOf<Item>);
    },
    async addItems(items) {
      await history.append(items.map(toItemJson));
    },
    async popItem() {
      let popped: JsonObject | undefined;
      await history.change(async () => {
        const path = await history.path();
        const items = path.items.flat();
        popped = items.at(-1);
        return popped === undefined ? [] : cutItems(history, path, items.length - 1, []);
      });
      return popped === undefined ? undefined : itemOf<Item>(popped);
    },
    clearSession: () => history.clear(),
    async replaceHistoryWithCompaction(items) {
      await history.replace(items.map(toItemJson));
    },
    async applyHistoryMutations({ mutations }) {
      await replaceCalls(history, mutations);
    },
    async applyHistoryTransaction(args) {
      await applyTransaction(history, args);
    },
  };
}

function itemOf<Item>(json: JsonObject): Item {
  return fromItemJson(json) as Item;
}

/**
 * Replaces calls where they stand: the first one with an id by its replacement, others with that id by nothing. Calls in
 * messages that others wrote stay as they are.
 */
async function replaceCalls(history: ItemHistory, mutations: HistoryRewrite<unknown>["mutations"]): Promise<void> {
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

/**
 * Makes a transaction once, however often it is asked for under its id. Errors: `INVALID_ARGUMENT`; `OPERATION_CONFLICT`
 * for an id that another transaction had; `HISTORY_CHANGED` when the history ends with other items. Then nothing changed.
 */
async function applyTransaction(history: ItemHistory, args: HistoryTransaction<unknown>): Promise<void> {
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
  const remaining = items.length - expected.length;
  if (remaining < 0 || !sameJson(items.slice(remaining), expected)) {
    const message = "The history does not end with the expected items, so nothing was replaced. Read it again.";
    throw new StemmaError("HISTORY_CHANGED", { sessionId: history.session.id }, message);
  }
  return cutItems(history, path, remaining, replacement);
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

// The types of the OpenAI Agents SDK that its sessions are made of, written down here so that they need no installed SDK.

/** Asks that calls be replaced by others with the same `callId`. */
interface HistoryRewrite<Item> {
  mutations: readonly { type: "replace_function_call"; callId: string; replacement: Item }[];
}

/** A change that is made once, however often it is asked for under its id. */
interface HistoryTransaction<Item> {
  operationId: string;
  transaction:
    | { type: "append_items"; items: Item[] }
    | { type: "replace_suffix"; expectedSuffix: Item[]; replacement: Item[] };
}

interface SdkSession<Item> {
  getSessionId(): Promise<string>;
  /** The newest items, as many as the limit says, in the order in which they were added; without a limit all of them. */
  getItems(limit?: number): Promise<Item[]>;
  addItems(items: Item[]): Promise<void>;
  /** Removes the newest item; undefined where there is none. */
  popItem(): Promise<Item | undefined>;
  clearSession(): Promise<void>;
  applyHistoryMutations(rewrite: HistoryRewrite<Item>): Promise<void>;
  applyHistoryTransaction(transaction: HistoryTransaction<Item>): Promise<void>;
}
