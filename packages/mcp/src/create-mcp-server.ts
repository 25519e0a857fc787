import { McpServer, ResourceNotFoundError } from "@modelcontextprotocol/server";
import { type Store, storeOf } from "@stemma/store";
import { buildServer } from "./build-server.js";
import { MCP_SERVER, type McpServerOptions, scopeOf } from "./scope.js";
import { createWatcher } from "./watcher.js";

/**
 * A server of the Model Context Protocol on a store: tools that search, read and remember, sessions and blocks as resources,
 * and prompts. One server serves one connection; several may work on one store. Its scope never changes. It never closes the store.
 * Errors: `INVALID_ARGUMENT`, also for an option that it does not have, `INVALID_TEXT`; `STORE_UNSUPPORTED` for what is no store;
 * `SESSION_OWNED` for another user than the one that the store is confined to.
 */
export function createMcpServer(store: Store, options: McpServerOptions = {}): McpServer {
  MCP_SERVER.assert(options, "createMcpServer()");
  const { readOnly = false } = options;
  const scope = scopeOf(storeOf(store), options);
  const watcher = createWatcher(scope, (uri) => void server.server.sendResourceUpdated({ uri }).catch(scope.onError));
  const server = buildServer({ McpServer, ResourceNotFoundError }, scope, { readOnly, watcher });
  server.server.onclose = () => watcher.clear();
  return server;
}
