import type { Conversation } from "../conversation.js";
import type { Completable } from "../terminal/completion.js";
import type { Terminal } from "../terminal/terminal.js";

/** A chat that is running. */
export interface Chat {
  readonly conversation: Conversation;
  readonly terminal: Terminal;
  /** Set while the model answers; aborting it ends the turn. */
  turn: AbortController | null;
  exitCode: number;
}

export interface SlashCommand extends Completable {
  /** What stands behind the name is a text for the model, which may have several lines. */
  readonly takesText?: true;
  run(chat: Chat, argument: string): void | Promise<void>;
}
