export { createMcpServer } from "./mcp/create-mcp-server.js";
export type { McpServerOptions } from "./mcp/options.js";
