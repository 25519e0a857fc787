import { scopeOf } from "@stemma/mcp";
import { type ServerHandler, whileLetIn } from "@stemma/server";
import { createMcpRoute, type McpRoute } from "../mcp/mcp-route.js";

/** Principals whose connections stay open. */
const MOST = 500;

export interface McpHandler {
  readonly handler: ServerHandler;
  close(): Promise<void>;
}

/** MCP for each principal: a server of its own, whose connections no other one can use. */
export function createMcp(onError: (error: unknown) => void): McpHandler {
  // The one that was used longest ago comes first.
  const open = new Map<string, McpRoute>();
  return {
    handler: async (request, { principal, store, isLetIn }) => {
      const key = JSON.stringify(Object.entries(principal).sort());
      const { userId, project, readOnly = false } = principal;
      const route = open.get(key) ?? createMcpRoute(scopeOf(store, { userId, project, onError }), { readOnly });
      open.delete(key);
      open.set(key, route);
      const [longestAgo] = open;
      if (open.size > MOST && longestAgo !== undefined) {
        open.delete(longestAgo[0]);
        await longestAgo[1].close();
      }
      return whileLetIn(await route.handle(request), isLetIn);
    },
    close: async () => {
      for (const route of open.values()) await route.close();
    },
  };
}
