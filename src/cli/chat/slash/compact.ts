import { count } from "../../text.js";
import type { SlashCommand } from "./slash-command.js";

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
