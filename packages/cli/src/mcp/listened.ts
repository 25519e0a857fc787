import type { McpServer } from "@modelcontextprotocol/server";
import type { McpScope } from "@stemma/mcp";
import { buildServer, createWatcher } from "@stemma/mcp";
import { isJsonObject } from "@stemma/model";
import { ResourceNotFoundError, McpServer as Server, StdioServerTransport, serveStdio } from "./sdk.js";
/** The method with which a client of 2026-07-28 asks to be told of changes. */
export const LISTEN = "subscriptions/listen";

/** The addresses of the resources that a message asks to be told of; none for any other message. */
export function listenedUris(message: unknown): string[] {
  if (!isJsonObject(message) || message.method !== LISTEN) return [];
  const { params } = message;
  const notifications = isJsonObject(params) ? params.notifications : undefined;
  const uris = isJsonObject(notifications) ? notifications.resourceSubscriptions : undefined;
  return Array.isArray(uris) ? uris.filter((uri) => typeof uri === "string") : [];
}

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
