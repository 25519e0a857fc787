import type { UseChatHelpers } from "@ai-sdk/react";
import type { ChatInit, UIMessage } from "ai";
import type { ChatPage } from "../ai-sdk.js";
import type { ChatRoutesOptions } from "./chat-routes.js";

/** The options of `useChat` but its transport, which this hook makes, and where the chat is served. */
export interface ChatTreeOptions<M extends UIMessage = UIMessage>
  extends Omit<ChatInit<M>, "transport">,
    ChatRoutesOptions {
  /** True when the `id` is that of a chat which begins here: it is not loaded, since it is not stored yet. Default: false. */
  isNew?: boolean | undefined;
  /** Sent with each message, beside it. */
  body?: object | undefined;
  /** Renders at most once in so many milliseconds while an answer streams. Default: with each piece. */
  throttle?: number | undefined;
}

/** Where a message stands among those that were written in its place. */
export interface Siblings {
  /** From 0, in the order in which they were written. */
  readonly index: number;
  /** 1 for a message without siblings. */
  readonly count: number;
  /** What to give to `select` for the one before; null for the first. */
  readonly previous: string | null;
  readonly next: string | null;
}

/** What `useChat` gives, and the tree. */
export interface ChatTree<M extends UIMessage = UIMessage> extends Omit<UseChatHelpers<M>, "stop"> {
  /** True until the stored messages are there. */
  readonly isLoading: boolean;
  readonly siblings: (messageId: string) => Siblings;
  /** Shows the branch below a message, and goes on there. Errors: `REQUEST_REFUSED`. */
  readonly select: (messageId: string) => Promise<void>;
  /** Asks something else in place of a message of the user. The old one stays as its sibling. */
  readonly edit: (messageId: string, message: string | Pick<M, "parts">) => Promise<void>;
  /** Stops the answer on the server. Resolves to false when it had ended before. Errors: `REQUEST_REFUSED`. */
  readonly stop: () => Promise<boolean>;
  /** True when there are messages before those shown. */
  readonly hasPrevious: boolean;
  /** Errors: `REQUEST_REFUSED`. */
  readonly loadPrevious: () => Promise<void>;
  /** The summaries that stand for older messages in what the model sees, those of other branches too; oldest first. */
  readonly compactions: ChatPage<M>["compactions"];
  /**
   * Shows the chat as it is stored now, and the answer that is under way: after another tab wrote, or the connection was lost.
   * Does nothing while this tab receives an answer. Errors: `REQUEST_REFUSED`.
   */
  readonly reload: () => Promise<void>;
}

/** The place of a message among `ids`, its siblings. */
export function placeOf(messageId: string, ids: readonly string[] = [messageId]): Siblings {
  const index = Math.max(ids.indexOf(messageId), 0);
  return { index, count: ids.length, previous: ids[index - 1] ?? null, next: ids[index + 1] ?? null };
}
