// The build puts these packages into this file, so that the command works without them: see tsdown.config.ts.
export {
  createMcpHandler,
  InMemoryServerEventBus,
  isLegacyRequest,
  McpServer,
  ResourceNotFoundError,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
export { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
