import { invalid } from "../../errors.js";
import type { JsonObject } from "../../model/json-object.js";
import type { Session } from "../../session/session.js";
import { ItemHistory } from "../item-history.js";
import { cutItems } from "../item-writes.js";
import { agentItems } from "./codec.js";
import { fromItemJson, toItemJson } from "./item-json.js";
import { replaceCalls } from "./mutations.js";
import type { SdkSession } from "./sdk.js";
import { applyTransaction } from "./transaction.js";

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
