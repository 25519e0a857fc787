import { scopeOf } from "@stemma/mcp";
import { untilEnd } from "@stemma/model";
import type { ServerHandler } from "@stemma/server";
import { createMcpRoute, type McpRoute } from "../mcp/mcp-route.js";

/** Principals whose connections stay open. */
const MOST = 500;
/** How often it is asked whether whoever hears of changes may still do so: a key may have been revoked. */
const LET_IN_FOR = 5_000;

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

/** An answer which, if it is a stream, ends soon after its reader is no longer let in. */
function whileLetIn(response: Response, isLetIn: () => Promise<boolean>): Response {
  if (response.body === null || response.headers.get("content-type") !== "text/event-stream") return response;
  const left = new AbortController();
  const timer = setInterval(async () => {
    if (!(await isLetIn())) left.abort();
  }, LET_IN_FOR);
  timer.unref();
  return new Response(
    untilEnd(response.body, () => clearInterval(timer), left.signal),
    response,
  );
}
