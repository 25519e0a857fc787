import { formatHits } from "../../../tools/session-search.js";
import type { SlashCommand } from "./slash-command.js";

export const search: SlashCommand = {
  name: "search",
  usage: "words",
  help: "find messages of all conversations",
  async run({ conversation, terminal }, query) {
    if (query === "") return terminal.line("Write what to look for: /search words");
    const hits = await conversation.manager.search(query, { limit: 10 });
    terminal.line(hits.length === 0 ? "No message matches." : formatHits(hits, query));
  },
};
