import { renderBlock } from "../../../context/prompt.js";
import type { SlashCommand } from "./slash-command.js";

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
