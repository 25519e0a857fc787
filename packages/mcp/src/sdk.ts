import type * as server from "@modelcontextprotocol/server";

/** The SDK that a server is built with: of the user's package, or of the copy that the command brings along. */
export type McpSdk = Pick<typeof server, "McpServer" | "ResourceNotFoundError">;
