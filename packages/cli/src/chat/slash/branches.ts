import type { SessionMessage } from "@stemma/model";
import { invalid, StemmaError, searchableText } from "@stemma/model";
import type { TreeNode } from "@stemma/store";
import { findMessageId } from "../../find.js";
import { oneLine } from "../../text.js";
import { showEarlier } from "../earlier-messages.js";
import { runTurn } from "../turn.js";
import type { Chat, SlashCommand } from "./slash-command.js";

export const retry: SlashCommand = {
  name: "retry",
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

export const versions: SlashCommand = {
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
