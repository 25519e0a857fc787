import { scopeOf } from "@stemma/mcp";
import { Recent } from "@stemma/model";
import type { ServerHandler } from "@stemma/server";
import { createMcpRoute, type McpRoute } from "../mcp/mcp-route.js";

/** Principals whose connections stay open. */
const REMEMBERED = 500;
const PATH = "/mcp";

export interface McpHandler {
  readonly handler: ServerHandler;
  close(): Promise<void>;
}

/** MCP for each principal: a server of its own, whose connections no other one can use. */
export function createMcp(onError: (error: unknown) => void): McpHandler {
  const open = new Map<string, McpRoute>();
  const recent = new Recent<string>(REMEMBERED);
  const closeEvicted = async () => {
    for (const [key, route] of open) {
      if (recent.get(key) !== undefined) continue;
      open.delete(key);
      await route.close();
    }
  };
  return {
    handler: async (request, { principal, store }) => {
      const key = JSON.stringify(Object.entries(principal).sort());
      const { userId, project, readOnly = false } = principal;
      const known = open.get(key);
      const route = known ?? createMcpRoute(scopeOf(store, { userId, project, onError }), { readOnly });
      open.set(key, route);
      recent.set(key, key);
      if (known === undefined) await closeEvicted();
      if (new URL(request.url).pathname !== PATH) return new Response(null, { status: 404 });
      return route.handle(request);
    },
    close: async () => {
      for (const route of open.values()) await route.close();
    },
  };
}
