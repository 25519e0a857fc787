export type { McpServerOptions } from "@stemma/mcp";
export { createMcpServer } from "@stemma/mcp";
