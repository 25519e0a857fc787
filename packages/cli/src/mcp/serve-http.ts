import type { McpScope } from "@stemma/mcp";
import { buildServer, createWatcher, type ResourceWatcher } from "@stemma/mcp";
import { readJsonObject } from "@stemma/model";
import { failed, refusal, refusalOfOrigin } from "@stemma/studio";
import { assertToken, isBearer, localHosts, type RunningServer, randomToken, serveNode } from "../http/node-server.js";
import { type ConnectionLimits, createConnections } from "./http-connections.js";
import { LISTEN, listenedUris } from "./listened.js";
import { createMcpHandler, InMemoryServerEventBus, McpServer, ResourceNotFoundError } from "./sdk.js";

const HOST = "127.0.0.1";
const PATH = "/mcp";
const MAX_LISTEN_BYTES = 256 * 1024;

export interface ServeHttpOptions {
  readonly readOnly: boolean;
  /** 0 takes a free one. */
  readonly port: number;
  /** The token that a client has to send, of at least 16 characters. Default: a random one. */
  readonly token?: string | undefined;
  readonly limits?: ConnectionLimits | undefined;
}

export interface ServedMcp extends RunningServer {
  readonly url: string;
  readonly token: string;
}

/** Serves clients of this machine over HTTP, each request with `Authorization: Bearer <token>`. Errors: `INVALID_ARGUMENT`. */
export async function serveHttp(scope: McpScope, options: ServeHttpOptions): Promise<ServedMcp> {
  const { token = randomToken() } = options;
  assertToken(token);
  const { handle, close } = createHandler(scope, options);
  let hosts: readonly string[] = [];
  const answer = async (request: Request): Promise<Response> => {
    const refused = refusalOfOrigin(request, hosts) ?? refusalOf(request, token);
    return refused === null ? handle(request) : failed(refused, scope.onError);
  };
  const server = await serveNode(answer, { host: HOST, port: options.port });
  hosts = localHosts(server.port);
  return {
    port: server.port,
    url: `http://${HOST}:${server.port}${PATH}`,
    token,
    close: async () => {
      await close();
      await server.close();
    },
  };
}

function refusalOf(request: Request, token: string) {
  if (!isBearer(request.headers.get("authorization"), token)) {
    return refusal(401, "NOT_ALLOWED", "Send the token that the server printed: Authorization: Bearer …");
  }
  return new URL(request.url).pathname === PATH ? null : refusal(404, "NOT_FOUND", `The server answers at ${PATH}.`);
}

/** Answers requests: by a server for each connection of 2025; else by one for each request, with one watcher for all. */
function createHandler(scope: McpScope, { readOnly, limits }: ServeHttpOptions) {
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
