export { buildServer, createMcpServer } from "./build-server.js";
export { type McpScope, scopeOf } from "./scope.js";
export { MCP_SERVER, type McpServerOptions } from "./server-options.js";
export { createWatcher, type ResourceWatcher } from "./watcher.js";
