import { StemmaError } from "../../errors.js";
import { databaseName, openDatabase } from "../open-database.js";
import { count } from "../text.js";
import type { ChatOptions } from "./chat-options.js";
import { Conversation } from "./conversation.js";
import { findCommand } from "./slash/registry.js";
import type { Chat } from "./slash/slash-command.js";
import { Terminal } from "./terminal.js";
import { runTurn } from "./turn.js";

const INTERRUPTED = 130;

/** Runs the chat until its input ends. Resolves to the exit code: 0, 1 when a turn failed without a person there to see it, 130 after Ctrl-C. */
export async function runChat(options: ChatOptions): Promise<number> {
  // Its warnings go to the terminal, in between what the model says.
  (globalThis as { AI_SDK_LOG_WARNINGS?: boolean }).AI_SDK_LOG_WARNINGS = false;
  const conversation = await Conversation.start(openDatabase(options), options);
  const terminal = new Terminal(process.stdin, process.stdout);
  const chat: Chat = { conversation, terminal, turn: null, exitCode: 0 };
  let warned = false;
  terminal.onInterrupt(() => {
    if (chat.turn !== null && !chat.turn.signal.aborted) return chat.turn.abort();
    if (!warned && chat.turn === null && terminal.interactive) {
      warned = true;
      terminal.note("(Ctrl-C again to quit)");
      return terminal.prompt();
    }
    chat.exitCode = INTERRUPTED;
    terminal.close();
  });
  try {
    if (options.new) await conversation.begin(options.session);
    else await conversation.enter(options.session);
    await greet(chat, options);
    for await (const line of terminal.lines()) {
      warned = false;
      if (line.trim() === "") continue;
      await work(chat, line);
    }
    return chat.exitCode;
  } finally {
    terminal.close();
    await conversation.close();
  }
}

async function work(chat: Chat, line: string): Promise<void> {
  try {
    if (!line.startsWith("/")) await runTurn(chat, () => chat.conversation.session.send(line));
    else await findCommand(line).run(chat, argumentOf(line));
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    chat.terminal.warn(error instanceof StemmaError ? error.message : `${error.name}: ${error.message}`);
    if (!chat.terminal.interactive) chat.exitCode = 1;
  }
}

function argumentOf(line: string): string {
  return line.replace(/^\/\S*\s*/u, "").trim();
}

async function greet({ conversation, terminal }: Chat, options: ChatOptions): Promise<void> {
  const { session, modelName } = conversation;
  const messages = await session.session.getPathLength();
  const what = messages === 0 ? "a new conversation" : `${await conversation.name()} — ${count(messages, "message")}`;
  terminal.note(`stemma · ${what} · ${databaseName(options)}`);
  if (modelName !== null) terminal.note(`Model: ${modelName}. /help lists the commands.`);
  else {
    terminal.note("No model is configured (--model or STEMMA_MODEL): the offline responder answers, which is not a");
    terminal.note("language model. Try: remember that …, what do you remember about …, search …, or /help.");
  }
  if (await session.isInterrupted()) {
    terminal.note("The last turn was interrupted; what was finished is kept. /retry asks again.");
  }
}
