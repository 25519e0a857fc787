import { StemmaError } from "../../../errors.js";
import type { TreeNode } from "../../../storage/contract.js";
import { findMessageId } from "../../find.js";
import { oneLine } from "../../text.js";
import { runTurn } from "../turn.js";
import type { Chat, SlashCommand } from "./slash-command.js";

export const retry: SlashCommand = {
  name: "retry",
  usage: "",
  help: "answer your last message anew, on a branch beside the present answer",
  async run(chat) {
    const last = await lastOfUser(chat);
    await runTurn(chat, () => chat.conversation.session.session.setActiveLeaf(last.id));
  },
};

export const branch: SlashCommand = {
  name: "branch",
  usage: "[@id] text",
  help: "say something else instead of message id (default: your last), on a branch beside it",
  async run(chat, argument) {
    const [, id, text = ""] = /^(?:@(\S+)\s*)?(.*)$/su.exec(argument) ?? [];
    if (text === "") throw invalid("Write what to say instead: /branch [@id] text");
    const instead = id === undefined ? await lastOfUser(chat) : await find(chat, id);
    if (instead.role !== "user")
      throw invalid("You can replace only your own messages. To go to another message, use /goto.");
    const message = { id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text }] };
    await runTurn(chat, async () => {
      await chat.conversation.session.session.appendMessage(message, instead.parentId);
    });
  },
};

export const goto: SlashCommand = {
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

function invalid(message: string): StemmaError {
  return new StemmaError("INVALID_ARGUMENT", {}, message);
}
