import { isSummaryMessage, readToolPart, type SessionMessage } from "@stemma/model";
import { renderBlock } from "@stemma/session";
import { drawTree } from "../../draw-tree.js";
import { describeTool, renderHit, toolLines } from "../../render-message.js";
import { count, shortIds } from "../../text.js";
import type { Conversation } from "../conversation.js";
import type { Completable } from "../terminal/prompt-editor.js";
import type { Terminal } from "../terminal/terminal.js";

export const usage: SlashCommand = {
  name: "usage",
  help: "tokens of this conversation",
  async run({ conversation, terminal }) {
    const spent = conversation.session.getUsage();
    const cached = [
      ["read from the cache", spent.cache_read_input_tokens],
      ["written to the cache", spent.cache_creation_input_tokens],
    ] as const;
    terminal.line(`${spent.input_tokens} tokens in, ${spent.output_tokens} out`);
    for (const [what, tokens] of cached) if (tokens !== undefined) terminal.line(`${tokens} tokens ${what}`);
    terminal.line(count(await conversation.session.session.getPathLength(), "message"));
  },
};

export interface Chat {
  readonly conversation: Conversation;
  readonly terminal: Terminal;
  /** Set while the model answers; aborting it ends the turn. */
  turn: AbortController | null;
  exitCode: number;
}

export interface SlashCommand extends Completable {
  /** The argument is a text for the model, which may have several lines. */
  readonly takesText?: true;
  run(chat: Chat, argument: string): void | Promise<void>;
}

export const compact: SlashCommand = {
  name: "compact",
  help: "lay a summary over the older messages; they stay, and can be searched",
  async run({ conversation, terminal }) {
    terminal.busy("summarising");
    const done = await conversation.compact().finally(() => terminal.busy(null));
    if (done === null)
      return terminal.line(
        "Nothing was compacted: there is too little to summarise, or a message was edited meanwhile.",
      );
    terminal.line(
      `The model now sees ${count(done.after, "message")} instead of ${done.before}; summarised by ${done.by}.`,
    );
  },
};

export const context: SlashCommand = {
  name: "context",
  help: "the context blocks as they are now",
  async run({ conversation, terminal }) {
    const { session } = conversation.session;
    await session.freezeSystemPrompt();
    const blocks = session.getContextBlocks().map(renderBlock).join("\n\n");
    terminal.line(blocks.replace(/^═+$/gmu, (rule) => rule.slice(0, terminal.width - 1)));
  },
};

export const search: SlashCommand = {
  name: "search",
  usage: "words",
  help: "find messages of all conversations",
  async run({ conversation, terminal }, query) {
    if (query === "") return terminal.line("Write what to look for: /search words");
    const hits = await conversation.manager.search(query, { limit: 10 });
    if (hits.length === 0) terminal.line("No message matches.");
    const sessions = shortIds((await conversation.manager.list()).map(({ id }) => id));
    const messages = shortIds([...new Set(hits.map(({ id }) => id))]);
    for (const [index, hit] of hits.entries()) {
      if (index > 0) terminal.line();
      const { id, sessionId } = hit;
      const short = { ...hit, id: messages.get(id) ?? id, sessionId: sessions.get(sessionId) ?? sessionId };
      terminal.styled(renderHit(short, query, terminal.style));
    }
  },
};

export const tree: SlashCommand = {
  name: "tree",
  help: "all messages with their branches and ids, and where you are",
  async run({ conversation, terminal }) {
    const { session } = conversation.session;
    const [messages, compactions] = await Promise.all([session.getTree(), session.getCompactions()]);
    const activeLeafId = (await session.getLatestLeaf())?.id ?? null;
    if (activeLeafId === null) return terminal.line("No messages yet.");
    const tools = await toolLines(conversation.store.session(conversation.session.id), terminal.width);
    const drawing = drawTree({ messages, compactions, activeLeafId, tools, width: terminal.width });
    terminal.line([...drawing].join("\n"));
  },
};

const SHOWN = 6;
const MAX_TOOL_CHARS = 200;

/** Shows the end of a conversation that the chat goes on with. */
export async function showEarlier({ conversation, terminal }: Chat): Promise<void> {
  const { session } = conversation.session;
  const last: SessionMessage[] = [];
  for await (const message of session.history({ newestFirst: true })) {
    last.unshift(message);
    if (last.length > SHOWN) break;
  }
  if (last.length > SHOWN) terminal.note("… what came before: `stemma show`");
  for (const message of last.slice(-SHOWN)) showMessage(message, terminal);
}

function showMessage(message: SessionMessage, terminal: Chat["terminal"]): void {
  if (isSummaryMessage(message)) terminal.note("Summary of what came before:");
  for (const part of message.parts) {
    const tool = readToolPart(part);
    if (tool !== null) terminal.note(describeTool(tool, MAX_TOOL_CHARS));
    else if (part.type !== "text" || typeof part.text !== "string" || part.text === "") continue;
    else if (message.role === "user") terminal.earlier(part.text);
    else terminal.write(part.text);
  }
  terminal.endLine();
}
