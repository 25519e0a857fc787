export { buildServer } from "./build-server.js";
export { createMcpServer } from "./create-mcp-server.js";
export { MCP_SERVER, type McpScope, type McpServerOptions, scopeOf } from "./scope.js";
export { createWatcher, type ResourceWatcher } from "./watcher.js";
