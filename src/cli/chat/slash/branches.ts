import { StemmaError } from "../../../errors.js";
import type { TreeNode } from "../../../storage/contract.js";
import { runTurn } from "../turn.js";
import type { Chat, SlashCommand } from "./slash-command.js";

export const retry: SlashCommand = {
  name: "retry",
  usage: "",
  help: "answer your last message anew, on a branch beside the present answer",
  async run(chat) {
    const { session } = chat.conversation.session;
    const last = lastUserMessage(await pathOf(chat));
    await runTurn(chat, () => session.setActiveLeaf(last.id));
  },
};

export const branch: SlashCommand = {
  name: "branch",
  usage: "[number] text",
  help: "say something else instead of message number (default: your last), on a branch beside it",
  async run(chat, argument) {
    const { session } = chat.conversation.session;
    const [, number, text = ""] = /^(\d+)?\s*(.*)$/su.exec(argument) ?? [];
    if (text === "") throw invalid("Write what to say instead: /branch [number] text");
    const instead = number === undefined ? lastUserMessage(await pathOf(chat)) : await numbered(chat, number);
    if (instead.role !== "user") throw invalid("Only your own messages can be said anew; /goto goes to any message.");
    const message = { id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text }] };
    await runTurn(chat, async () => {
      await session.appendMessage(message, instead.parentId);
    });
  },
};

export const goto: SlashCommand = {
  name: "goto",
  usage: "number",
  help: "go on after message number; what followed it stays as a branch",
  async run(chat, argument) {
    const node = await numbered(chat, argument);
    await chat.conversation.session.session.setActiveLeaf(node.id);
    chat.terminal.line(`At ${argument} (${node.role}): ${node.preview}`);
  },
};

async function numbered(chat: Chat, number: string): Promise<TreeNode> {
  const nodes = await chat.conversation.session.session.getTree();
  const node = /^\d+$/u.test(number) ? nodes[Number(number) - 1] : undefined;
  if (node === undefined) throw invalid(`There is no message "${number}"; /tree shows the numbers.`);
  return node;
}

/** The messages from the root to where the conversation is. */
async function pathOf(chat: Chat): Promise<TreeNode[]> {
  const { session } = chat.conversation.session;
  const nodes = new Map((await session.getTree()).map((node) => [node.id, node]));
  const path: TreeNode[] = [];
  let id = (await session.getLatestLeaf())?.id ?? null;
  while (id !== null) {
    const node = nodes.get(id);
    if (node === undefined) break;
    path.unshift(node);
    id = node.parentId;
  }
  return path;
}

function lastUserMessage(path: readonly TreeNode[]): TreeNode {
  const last = path.findLast(({ role }) => role === "user");
  if (last === undefined) throw invalid("You have not said anything here yet.");
  return last;
}

function invalid(message: string): StemmaError {
  return new StemmaError("INVALID_ARGUMENT", {}, message);
}
