import type { McpServer } from "@modelcontextprotocol/server";
import { buildServer } from "../../mcp/build-server.js";
import type { McpScope } from "../../mcp/scope.js";
import { createWatcher } from "../../mcp/watcher.js";
import { listenedUris } from "./listened.js";
import { ResourceNotFoundError, McpServer as Server, StdioServerTransport, serveStdio } from "./sdk.js";

/** Serves one client over standard input and output, until the input ends or `stopped` resolves. */
export async function serveOnStdio(scope: McpScope, readOnly: boolean, stopped: Promise<void>): Promise<void> {
  let server: McpServer | null = null;
  const watcher = createWatcher(scope, (uri) => {
    server?.server.sendResourceUpdated({ uri }).catch(scope.onError);
  });
  const transport = new StdioServerTransport();
  const connection = serveStdio(
    () => {
      server = buildServer({ McpServer: Server, ResourceNotFoundError }, scope, { readOnly, watcher });
      return server;
    },
    { transport, onerror: scope.onError },
  );
  const { onmessage, onclose } = transport;
  // What a client listens to is answered before a server sees it.
  transport.onmessage = (message) => {
    for (const uri of listenedUris(message)) watcher.watch(uri).catch(() => {});
    onmessage?.(message);
  };
  const ended = new Promise<void>((end) => {
    transport.onclose = () => {
      onclose?.();
      end();
    };
  });
  await Promise.race([ended, stopped]);
  watcher.clear();
  await connection.close();
}
