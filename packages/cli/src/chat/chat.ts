import { statSync } from "node:fs";
import { invalid, StemmaError } from "@stemma/model";
import { describeError } from "../errors.js";
import { databaseName, openLocal } from "../open-database.js";
import { count } from "../text.js";
import { type ChatOptions, Conversation, checkSkills } from "./conversation.js";
import { COMMANDS, findCommand } from "./slash/registry.js";
import { type Chat, showEarlier } from "./slash/slash-command.js";
import { openTerminal } from "./terminal/open-terminal.js";
import { runTurn } from "./turn.js";

const INTERRUPTED = 130;

const OFFLINE =
  "No model is configured (--model or STEMMA_MODEL): the offline responder answers, which is not a language model. Try: remember that …, what do you remember about …, search …, or /help.";

/** Runs the chat until its input ends. Resolves to the exit code: 0, 1 when a turn failed without a person there to see it, 130 after Ctrl-C. */
export async function runChat(options: ChatOptions): Promise<number> {
  // Its warnings go to the terminal, in between what the model says.
  (globalThis as { AI_SDK_LOG_WARNINGS?: boolean }).AI_SDK_LOG_WARNINGS = false;
  const skills = skillsFolder(options.skills) ?? undefined;
  const conversation = await Conversation.start(await openLocal(options), { ...options, skills });
  try {
    const isNew = await conversation.enter(options);
    const terminal = await openTerminal(COMMANDS);
    const chat: Chat = { conversation, terminal, turn: null, exitCode: 0 };
    terminal.onInterrupt(() => interrupt(chat));
    try {
      await greet(chat, options, isNew);
      for await (const entry of terminal.entries()) if (entry.trim() !== "") await work(chat, entry);
      return chat.exitCode;
    } finally {
      await terminal.end();
    }
  } finally {
    await conversation.close();
  }
}

/** Ctrl-C: stops the answer; where there is none, asks for a second one, which ends the chat. */
function interrupt(chat: Chat): void {
  const { turn, terminal } = chat;
  if (turn !== null && !turn.signal.aborted) turn.abort();
  // What goes on does not end: the database is safe all the same.
  else if (terminal.closed) process.exit(INTERRUPTED);
  else if (terminal.interactive && !terminal.hinted) terminal.hint("(Ctrl-C again to quit)");
  else {
    chat.exitCode = INTERRUPTED;
    terminal.close();
  }
}

async function work(chat: Chat, entry: string): Promise<void> {
  try {
    const command = findCommand(entry);
    if (command === null) await runTurn(chat, () => chat.conversation.session.send(entry));
    else await command.run(chat, argumentOf(entry));
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    chat.terminal.warn(
      StemmaError.isInstance(error) ? describeError(error).message : `${error.name}: ${error.message}`,
    );
    if (!chat.terminal.interactive) chat.exitCode = 1;
  }
}

function argumentOf(line: string): string {
  return line.replace(/^\/\S*\s*/u, "").trim();
}

async function greet(chat: Chat, options: ChatOptions, isNew: boolean): Promise<void> {
  const { conversation, terminal } = chat;
  const { session, modelName } = conversation;
  const messages = await session.session.getPathLength();
  const what = messages === 0 ? "a new conversation" : `${await conversation.name()} — ${count(messages, "message")}`;
  terminal.note(`stemma · ${what} · ${databaseName(options)}`);
  if (modelName !== null) terminal.note(`Model: ${modelName}. /help lists the commands.`);
  else terminal.note(OFFLINE);
  if (isNew && options.session !== undefined && !options.new)
    terminal.note(`There was no conversation "${options.session}": this is a new one, under that id.`);
  const skills = skillsFolder(options.skills);
  if (skills !== null) await checkSkills(skills, (problem) => terminal.warn(problem));
  if (terminal.interactive) await showEarlier(chat);
  if (await session.isInterrupted()) {
    terminal.note("The last turn was interrupted; what was finished is kept. /retry asks again.");
  }
}

/**
 * The folder of skills of the chat: that of the option, else of `STEMMA_SKILLS`, else `skills` where that is there; null for
 * none. Errors: `INVALID_ARGUMENT` for a folder that is named and not there.
 */
function skillsFolder(option: string | undefined): string | null {
  const named = option ?? (process.env.STEMMA_SKILLS || null);
  if (named === null) return isFolder("skills") ? "skills" : null;
  if (isFolder(named)) return named;
  const message = `There is no folder "${named}" of skills: name another one with --skills or STEMMA_SKILLS, or leave it out.`;
  throw invalid(message, { skills: named });
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
