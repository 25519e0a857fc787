import { drawTree } from "../../draw-tree.js";
import { toolLines } from "../../tool-lines.js";
import type { SlashCommand } from "./slash-command.js";

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
