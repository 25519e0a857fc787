export { createMcpServer } from "./mcp/build-server.js";
export type { McpServerOptions } from "./mcp/options.js";
