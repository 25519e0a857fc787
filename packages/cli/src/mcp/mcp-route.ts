import type { McpScope } from "@stemma/mcp";
import { buildServer, createWatcher, type ResourceWatcher } from "@stemma/mcp";
import { readJsonObject } from "@stemma/model";
import { type ConnectionLimits, createConnections } from "./http-connections.js";
import { LISTEN, listenedUris } from "./listened.js";
import { createMcpHandler, InMemoryServerEventBus, McpServer, ResourceNotFoundError } from "./sdk.js";

const MAX_LISTEN_BYTES = 256 * 1024;

export interface McpRouteOptions {
  readonly readOnly: boolean;
  readonly limits?: ConnectionLimits | undefined;
}

export interface McpRoute {
  handle(request: Request): Promise<Response>;
  close(): Promise<void>;
}

/** Answers requests: by a server for each connection of 2025; else by one for each request, with one watcher for all. */
export function createMcpRoute(scope: McpScope, { readOnly, limits }: McpRouteOptions): McpRoute {
  const watcher = createWatcher(scope, (uri) => handler.notify.resourceUpdated(uri));
  const inner = new InMemoryServerEventBus(scope.onError);
  let opening = 0;
  const rest = () => {
    if (opening === 0 && inner.listenerCount === 0) watcher.clear();
  };
  const bus = {
    publish: inner.publish.bind(inner),
    subscribe: (listener: Parameters<typeof inner.subscribe>[0]) => {
      const unsubscribe = inner.subscribe(listener);
      return () => {
        unsubscribe();
        rest();
      };
    },
  };
  const build = (watcher: ResourceWatcher | null) =>
    buildServer({ McpServer, ResourceNotFoundError }, scope, { readOnly, watcher });
  // A request of 2025 that belongs to no connection is answered, and there is no stream to tell of changes on.
  const handler = createMcpHandler(({ era }) => build(era === "modern" ? watcher : null), {
    bus,
    onerror: scope.onError,
  });
  const connections = createConnections(scope, build, limits);
  const handle = async (request: Request): Promise<Response> => {
    if (request.headers.get("mcp-method") !== LISTEN) {
      return (await connections.answer(request)) ?? handler.fetch(request);
    }
    opening += 1;
    try {
      for (const uri of await urisOf(request.clone())) await watcher.watch(uri).catch(() => {});
      return await handler.fetch(request);
    } finally {
      opening -= 1;
      rest();
    }
  };
  return {
    handle,
    close: async () => {
      await connections.close();
      await handler.close();
      watcher.clear();
    },
  };
}

// A body that cannot be read is refused by the handler.
async function urisOf(request: Request): Promise<string[]> {
  const limit = { maxBytes: MAX_LISTEN_BYTES, advice: "Listen to fewer resources." };
  return listenedUris(await readJsonObject(request, limit).catch(() => null));
}
