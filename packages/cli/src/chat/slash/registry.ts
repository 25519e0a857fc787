import { invalid } from "@stemma/model";
import { wrapped } from "../../text.js";
import { callOf } from "../terminal/prompt-editor.js";
import { branch, goto, retry, versions } from "./branches.js";
import { fork, newSession, sessions } from "./session-commands.js";
import type { SlashCommand } from "./slash-command.js";
import { compact, context, search, tree, usage } from "./slash-command.js";

/** Columns below which a list in two columns cannot be read. */
const NARROW = 70;

const quit: SlashCommand = {
  name: "quit",
  help: "end the chat; the next one goes on from here",
  run: ({ terminal }) => terminal.close(),
};

const help: SlashCommand = {
  name: "help",
  help: "this list",
  run({ terminal }) {
    const lines = COMMANDS.map((command) => [callOf(command), command.help] as const);
    const first = Math.max(...lines.map(([call]) => call.length)) + 4;
    // On a narrow screen what a command does stands below it.
    const [indent, apart] = terminal.width < NARROW ? [6, true] : [first, false];
    for (const [call, what] of lines) {
      const text = wrapped(what, terminal.width - indent - 1).map((line) => " ".repeat(indent) + line);
      if (apart) terminal.line([`  ${call}`, ...text].join("\n"));
      else terminal.line(`  ${call}`.padEnd(indent) + text.join("\n").trimStart());
    }
  },
};

/** Every command, in the order of `/help`. */
export const COMMANDS: readonly SlashCommand[] = [
  tree,
  retry,
  branch,
  versions,
  goto,
  compact,
  context,
  search,
  newSession,
  sessions,
  fork,
  usage,
  help,
  quit,
];

/**
 * The command that an entry names; null for a message. An entry of several lines is a message, unless it names a command that
 * takes a text. Errors: `INVALID_ARGUMENT`.
 */
export function findCommand(entry: string): SlashCommand | null {
  if (!entry.startsWith("/")) return null;
  const name = /^\/(\S*)/u.exec(entry)?.[1] ?? "";
  const found = COMMANDS.find((command) => command.name === (name === "exit" ? "quit" : name));
  if (entry.includes("\n") && !found?.takesText) return null;
  if (found !== undefined) return found;
  throw invalid(`There is no command /${name}; /help lists them.`, { name });
}
