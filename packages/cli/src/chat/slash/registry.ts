import type { SessionMessage } from "@stemma/model";
import { beginning, invalid, StemmaError, searchableText } from "@stemma/model";
import type { TreeNode } from "@stemma/store";
import { findMessageId, findSession } from "../../find.js";
import { columns, count, localTime, oneLine, shortIds, wrapped } from "../../text.js";
import { callOf } from "../terminal/prompt-editor.js";
import { runTurn } from "../turn.js";
import { type Chat, compact, context, type SlashCommand, search, showEarlier, tree, usage } from "./slash-command.js";

const SHOWN = 20;

const sessions: SlashCommand = {
  name: "sessions",
  usage: "[id or name]",
  help: "the latest conversations; with an id or a name: go to that one",
  async run(chat, argument) {
    const { conversation, terminal } = chat;
    const { manager } = conversation;
    if (argument !== "") {
      await conversation.resume(await findSession(manager, argument));
      const messages = await conversation.session.session.getPathLength();
      terminal.line(`In ${oneLine(await conversation.name())} (${count(messages, "message")}).`);
      if (terminal.interactive) await showEarlier(chat);
      return;
    }
    const page = await manager.listPage({ limit: SHOWN });
    const short = shortIds((await manager.list()).map(({ id }) => id));
    const rows = page.sessions.map(({ id, name, updated_at }) => {
      const mark = id === conversation.session.id ? "*" : " ";
      return [mark, oneLine(short.get(id) ?? id), localTime(updated_at), oneLine(name)];
    });
    for (const row of columns(rows).trimEnd().split("\n")) terminal.line(beginning(row, terminal.width - 1));
    if (page.nextCursor !== null) terminal.line("… and more: `stemma sessions` lists all");
  },
};

const newSession: SlashCommand = {
  name: "new",
  usage: "[name]",
  help: "start a new conversation; the memory comes along",
  async run({ conversation, terminal }, name) {
    await conversation.begin(undefined, name === "" ? undefined : name);
    terminal.line("A new conversation.");
  },
};

const fork: SlashCommand = {
  name: "fork",
  usage: "[name]",
  help: "go on in a copy of this conversation",
  async run({ conversation, terminal }, name) {
    await conversation.fork(name === "" ? undefined : name);
    terminal.line(`In ${oneLine(await conversation.name())} (${conversation.session.id}).`);
  },
};

const retry: SlashCommand = {
  name: "retry",
  help: "answer your last message anew, on a branch beside the present answer",
  async run(chat) {
    const last = await lastOfUser(chat);
    await runTurn(chat, () => chat.conversation.session.session.setActiveLeaf(last.id));
  },
};

const branch: SlashCommand = {
  name: "branch",
  usage: "[@id] text",
  help: "say something else instead of message id (default: your last), on a branch beside it",
  takesText: true,
  async run(chat, argument) {
    const [, id, text = ""] = /^(?:@(\S+)\s*)?(.*)$/su.exec(argument) ?? [];
    if (text === "") throw invalid("Write what to say instead: /branch [@id] text");
    const instead = id === undefined ? await lastOfUser(chat) : await find(chat, id);
    if (instead.role !== "user")
      throw invalid("You can replace only your own messages. To go to another message, use /goto.");
    const message = { id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text }] };
    await runTurn(chat, async () => {
      await chat.conversation.session.session.editMessage(instead.id, message);
    });
  },
};

const versions: SlashCommand = {
  name: "versions",
  usage: "[@id] [number]",
  help: "the versions of message id (default: the last that has several); with a number: go on with that one",
  async run(chat, argument) {
    const [, id, number] = /^(?:@(\S+))?\s*(\d+)?$/u.exec(argument) ?? [];
    if (argument !== "" && id === undefined && number === undefined)
      throw invalid("Write a message, a number, or both: /versions [@id] [number]");
    const { session } = chat.conversation.session;
    const at = id === undefined ? await lastWithSiblings(chat) : (await find(chat, id)).id;
    const siblings = await session.getSiblings(at);
    if (number === undefined) {
      const current = await onPath(chat, siblings);
      siblings.forEach((message, index) => {
        const mark = message.id === current ? "*" : " ";
        chat.terminal.line(`${mark} ${index + 1}  ${message.role}: ${oneLine(searchableText(message)) || "(no text)"}`);
      });
      return;
    }
    const chosen = siblings[Number(number) - 1];
    if (chosen === undefined) throw invalid(`There are ${siblings.length} versions; /versions shows them.`);
    await session.selectBranch(chosen.id);
    await showEarlier(chat);
  },
};

const goto: SlashCommand = {
  name: "goto",
  usage: "id",
  help: "go on after message id; what followed it stays as a branch",
  async run(chat, argument) {
    const node = await find(chat, argument.replace(/^@/u, ""));
    await chat.conversation.session.session.setActiveLeaf(node.id);
    chat.terminal.line(`After ${node.role}: ${oneLine(node.preview)}`);
  },
};

/** The message with this id, or the beginning of it. */
async function find({ conversation }: Chat, text: string): Promise<TreeNode> {
  const { session, store } = conversation;
  const id = await findMessageId(store, session.id, text);
  const node = (await session.session.getTree()).find((candidate) => candidate.id === id);
  if (node === undefined) throw new StemmaError("MESSAGE_NOT_FOUND", { id }, `Message "${id}" is gone; see /tree.`);
  return node;
}

/** The last message of the user on the way to where the conversation is. */
async function lastOfUser({ conversation }: Chat): Promise<TreeNode> {
  const { session } = conversation.session;
  const nodes = new Map((await session.getTree()).map((node) => [node.id, node]));
  const leaf = await session.getLatestLeaf();
  for (let node = nodes.get(leaf?.id ?? ""); node !== undefined; node = nodes.get(node.parentId ?? "")) {
    if (node.role === "user") return node;
  }
  throw invalid("You have not said anything here yet.");
}

/** The last message on the way to where the conversation is that has others beside it. */
async function lastWithSiblings({ conversation }: Chat): Promise<string> {
  const { session } = conversation.session;
  const nodes = await session.getTree();
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const children = new Map<string | null, number>();
  for (const { parentId } of nodes) children.set(parentId, (children.get(parentId) ?? 0) + 1);
  const leaf = await session.getLatestLeaf();
  for (let node = byId.get(leaf?.id ?? ""); node !== undefined; node = byId.get(node.parentId ?? "")) {
    if ((children.get(node.parentId) ?? 0) > 1) return node.id;
  }
  throw invalid("No message here has another version: /retry and /branch make one.");
}

/** Which of the messages the conversation goes through; undefined when none. */
async function onPath({ conversation }: Chat, messages: readonly SessionMessage[]): Promise<string | undefined> {
  const ids = new Set(messages.map(({ id }) => id));
  const { session } = conversation.session;
  for await (const { id } of session.history({ newestFirst: true, summaries: false })) if (ids.has(id)) return id;
  return undefined;
}

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
