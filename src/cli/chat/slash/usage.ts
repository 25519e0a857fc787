import { count } from "../../text.js";
import type { SlashCommand } from "./slash-command.js";

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
