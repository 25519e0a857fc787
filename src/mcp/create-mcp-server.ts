import { McpServer, ResourceNotFoundError } from "@modelcontextprotocol/server";
import type { Store } from "../storage/contract.js";
import { storeOf } from "../storage/store-of.js";
import { buildServer } from "./build-server.js";
import { assertMcpOptions, type McpServerOptions } from "./options.js";
import { scopeOf } from "./scope.js";
import { createWatcher } from "./watcher.js";

/**
 * A server of the Model Context Protocol on a store: tools that search, read and remember, sessions and blocks as resources,
 * and prompts. One server serves one connection; several may work on one store. Its scope never changes. It never closes the store.
 * Errors: `INVALID_ARGUMENT`, also for an option that it does not have, `INVALID_TEXT`; `STORE_UNSUPPORTED` for what is no store;
 * `SESSION_OWNED` for another user than the one that the store is confined to.
 */
export function createMcpServer(store: Store, options: McpServerOptions = {}): McpServer {
  assertMcpOptions(options);
  const { readOnly = false } = options;
  const scope = scopeOf(storeOf(store), options);
  const watcher = createWatcher(scope, (uri) => void server.server.sendResourceUpdated({ uri }).catch(scope.onError));
  const server = buildServer({ McpServer, ResourceNotFoundError }, scope, { readOnly, watcher });
  server.server.onclose = () => watcher.clear();
  return server;
}
