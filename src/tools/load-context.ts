import { shorten } from "../errors.js";
import { quoteField } from "../model/quoted-results.js";
import type { ContextAccess, ToolBlock } from "./access.js";
import { blockInput, listBlocks } from "./fields.js";
import { createTool, type SessionTool } from "./tool.js";

/** `load_context`: reads a whole document. Null when no block holds documents. */
export function createLoadContextTool(present: readonly ToolBlock[], context: ContextAccess): SessionTool | null {
  const blocks = present.filter((block) => block.isSkill);
  if (blocks.length === 0) return null;
  return createTool({
    description: `Load a document that a [loadable] block lists, to read it in full. Unload it when it is no longer needed.\nBlocks:\n${listBlocks(blocks)}`,
    ...blockInput(
      blocks,
      { key: { type: "string", minLength: 1, description: "The document's key, as the block lists it." } },
      ["key"],
    ),
    async run({ label, key }, { toolCallId }) {
      const block = context.toolBlock(label);
      const content = await context.loadEntry(block.label, key);
      if (content === null) return `Not found: ${quoteField(shorten(key))}`;
      await context.skills?.load(block.label, key, toolCallId);
      return content;
    },
  });
}
