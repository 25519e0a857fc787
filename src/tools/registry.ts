import type { ContextAccess, ToolBlock } from "./access.js";
import { createLoadContextTool } from "./load-context.js";
import { createSearchContextTool } from "./search-context.js";
import { createSetContextTool } from "./set-context.js";
import type { SessionTool, SessionTools } from "./tool.js";
import { createUnloadContextTool } from "./unload-context.js";

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
