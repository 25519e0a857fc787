import type { Conversation } from "../conversation.js";
import type { Terminal } from "../terminal.js";

/** A chat that is running. */
export interface Chat {
  readonly conversation: Conversation;
  readonly terminal: Terminal;
  /** Set while the model answers; aborting it ends the turn. */
  turn: AbortController | null;
  exitCode: number;
}

export interface SlashCommand {
  readonly name: string;
  /** What stands behind the name, as `/help` shows it. */
  readonly usage: string;
  readonly help: string;
  run(chat: Chat, argument: string): void | Promise<void>;
}
