import { quote } from "../errors.js";
import type { ContextAccess, ToolBlock } from "./access.js";
import { blockInput, listBlocks } from "./fields.js";
import { QUERY } from "./input-schema.js";
import { createTool, type SessionTool } from "./tool.js";

/** `search_context`: finds entries of a searchable block. Null when there is no such block. */
export function createSearchContextTool(present: readonly ToolBlock[], context: ContextAccess): SessionTool | null {
  const blocks = present.filter((block) => block.isSearchable);
  if (blocks.length === 0) return null;
  return createTool({
    description: `Search a block for entries that match. The best come first.\nBlocks:\n${listBlocks(blocks)}`,
    ...blockInput(blocks, { query: QUERY }, ["query"]),
    async run({ label, query }) {
      const block = context.toolBlock(label);
      return (await context.searchEntries(block.label, query)) || `No entry of ${block.label} matches ${quote(query)}.`;
    },
  });
}
