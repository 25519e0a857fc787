import { BaseListChatMessageHistory } from "@langchain/core/chat_history";
import {
  type BaseMessage,
  mapChatMessagesToStoredMessages,
  mapStoredMessagesToChatMessages,
  type StoredMessage,
} from "@langchain/core/messages";
import type { JsonObject } from "../../model/json-object.js";
import type { Session } from "../../session/session.js";
import { ItemHistory } from "../item-history.js";
import { langchainItems } from "./codec.js";

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
