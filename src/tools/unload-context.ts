import { quote, shorten } from "../errors.js";
import { quoteField } from "../model/quoted-results.js";
import type { ContextAccess, ToolBlock } from "./access.js";
import { blockInput, listBlocks } from "./fields.js";
import { createTool, refusal, type SessionTool } from "./tool.js";

/** `unload_context`: takes a loaded document out of what the model sees. Null when no block holds documents. */
export function createUnloadContextTool(present: readonly ToolBlock[], context: ContextAccess): SessionTool | null {
  const blocks = present.filter((block) => block.isSkill);
  if (blocks.length === 0) return null;
  return createTool({
    description: `Free the space of a document that load_context loaded. It can be loaded again.\nBlocks:\n${listBlocks(blocks)}`,
    ...blockInput(
      blocks,
      { key: { type: "string", minLength: 1, description: "The key that the document was loaded with." } },
      ["key"],
    ),
    async run({ label, key }) {
      const block = context.toolBlock(label);
      if (!context.skills)
        return refusal("This session has nowhere to keep what is loaded, so nothing can be unloaded.");
      const unloaded = await context.skills.unload(block.label, key);
      return unloaded
        ? `Unloaded ${quoteField(shorten(key))} of ${block.label}.`
        : refusal(`${quote(key)} of ${block.label} is not loaded.`);
    },
  });
}
