import { quote, quoteField, shorten } from "@stemma/model";
import { blockInput, listBlocks } from "./fields.js";
import { QUERY } from "./input-schema.js";
import { createSetContextTool } from "./set-context.js";
import {
  type ContextAccess,
  createTool,
  refusal,
  type SessionTool,
  type SessionTools,
  type ToolBlock,
} from "./tool.js";

/** Every tool that blocks bring along. A factory returns null when no present block calls for its tool. */
const CONTEXT_TOOLS: Record<string, (present: readonly ToolBlock[], context: ContextAccess) => SessionTool | null> = {
  set_context: createSetContextTool,
  load_context: createLoadContextTool,
  unload_context: createUnloadContextTool,
  search_context: createSearchContextTool,
};

/**
 * The tools that the `present` blocks call for, in their order. What they say of themselves depends on labels, descriptions and budgets
 * only: it is part of the model's cached prefix.
 */
export function createContextTools(present: readonly ToolBlock[], context: ContextAccess): SessionTools {
  const tools: SessionTools = {};
  for (const [name, create] of Object.entries(CONTEXT_TOOLS)) {
    const tool = create(present, context);
    if (tool) tools[name] = tool;
  }
  return tools;
}

/** `load_context`: reads a whole document. Null when no block holds documents. */
function createLoadContextTool(present: readonly ToolBlock[], context: ContextAccess): SessionTool | null {
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

/** `unload_context`: takes a loaded document out of what the model sees. Null when no block holds documents. */
function createUnloadContextTool(present: readonly ToolBlock[], context: ContextAccess): SessionTool | null {
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

/** `search_context`: finds entries of a searchable block. Null when there is no such block. */
function createSearchContextTool(present: readonly ToolBlock[], context: ContextAccess): SessionTool | null {
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
