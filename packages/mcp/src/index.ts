export { buildServer, createMcpServer } from "./build-server.js";
export { MCP_SERVER, type McpScope, type McpServerOptions, scopeOf } from "./scope.js";
export { createWatcher, type ResourceWatcher } from "./watcher.js";
