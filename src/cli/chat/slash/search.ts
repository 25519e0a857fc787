import { renderHit } from "../../render-hit.js";
import { shortIds } from "../../text.js";
import type { SlashCommand } from "./slash-command.js";

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
