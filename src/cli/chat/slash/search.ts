import { renderHit } from "../../render-hit.js";
import type { SlashCommand } from "./slash-command.js";

export const search: SlashCommand = {
  name: "search",
  usage: "words",
  help: "find messages of all conversations",
  async run({ conversation, terminal }, query) {
    if (query === "") return terminal.line("Write what to look for: /search words");
    const hits = await conversation.manager.search(query, { limit: 10 });
    if (hits.length === 0) terminal.line("No message matches.");
    for (const hit of hits) terminal.styled(renderHit(hit, query, terminal.style));
  },
};
