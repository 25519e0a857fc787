import { buildServer, createWatcher, type McpScope, type ResourceWatcher } from "@stemma/mcp";
import { readJsonObject, untilEnd } from "@stemma/model";
import { LISTEN, listenedUris } from "./listened.js";
import {
  createMcpHandler,
  InMemoryServerEventBus,
  isLegacyRequest,
  McpServer,
  ResourceNotFoundError,
  WebStandardStreamableHTTPServerTransport,
} from "./sdk.js";

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

/** The header by which a request names its connection. */
const CONNECTION = "mcp-session-id";
const MAX_INITIALIZE_BYTES = 256 * 1024;

interface ConnectionLimits {
  /** Connections at a time; one more closes the one that was used longest ago. Default 256. */
  readonly most?: number | undefined;
  /** Milliseconds after which a connection is closed that has no stream open and sends no request. Default an hour. */
  readonly idle?: number | undefined;
}

/** The connections of clients of the protocol's revisions of 2025, which begin with `initialize`. */
interface HttpConnections {
  /** Answers a request that opens a connection or belongs to one; null for any other. */
  answer(request: Request): Promise<Response | null>;
  close(): Promise<void>;
}

interface Connection {
  readonly transport: WebStandardStreamableHTTPServerTransport;
  usedAt: number;
  /** How many of its answers are still being sent: the stream that it is told of changes on is one. */
  streams: number;
}

/** Gives each client a server of its own, which `build` makes, and tells it of changes on its stream. */
function createConnections(
  scope: McpScope,
  build: (watcher: ResourceWatcher) => McpServer,
  { most = 256, idle = 3_600_000 }: ConnectionLimits = {},
): HttpConnections {
  // The one that was used longest ago comes first.
  const open = new Map<string, Connection>();

  const connect = async (): Promise<WebStandardStreamableHTTPServerTransport> => {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (id) => {
        open.set(id, { transport, usedAt: performance.now(), streams: 0 });
      },
    });
    const watcher = createWatcher(scope, (uri) => void server.server.sendResourceUpdated({ uri }).catch(scope.onError));
    const server = build(watcher);
    server.server.onclose = () => {
      watcher.clear();
      open.delete(transport.sessionId ?? "");
    };
    server.server.onerror = scope.onError;
    await server.connect(transport);
    return transport;
  };

  const unused = () => [...open.values()].filter(({ streams }) => streams === 0);
  const closeIdle = async (): Promise<void> => {
    const since = performance.now() - idle;
    for (const { transport, usedAt } of unused()) if (usedAt <= since) await transport.close();
  };
  const makeRoom = async (): Promise<void> => {
    if (open.size < most) return;
    const [longestAgo] = [...unused(), ...open.values()];
    await longestAgo?.transport.close();
  };
  const timer = setInterval(() => void closeIdle().catch(scope.onError), Math.min(idle / 4, 60_000));
  timer.unref();

  const opening = async (request: Request): Promise<Response> => {
    await makeRoom();
    const transport = await connect();
    const response = await transport.handleRequest(request);
    // A request that is refused opens nothing.
    if (transport.sessionId === undefined) await transport.close();
    return response;
  };

  const using = async (id: string, request: Request): Promise<Response> => {
    const connection = open.get(id);
    if (connection === undefined) return unknownConnection();
    open.delete(id);
    open.set(id, connection);
    connection.usedAt = performance.now();
    const response = await connection.transport.handleRequest(request);
    if (response.body === null) return response;
    connection.streams += 1;
    const ended = () => {
      connection.streams -= 1;
      connection.usedAt = performance.now();
    };
    return new Response(untilEnd(response.body, ended), response);
  };

  return {
    answer: async (request) => {
      const id = request.headers.get(CONNECTION);
      if (!(await isLegacyRequest(request))) return null;
      if (id !== null) return using(id, request);
      return (await isInitialize(request.clone())) ? opening(request) : null;
    },
    close: async () => {
      clearInterval(timer);
      for (const { transport } of [...open.values()]) await transport.close();
    },
  };
}

// A body that cannot be read is refused by whoever gets the request.
async function isInitialize(request: Request): Promise<boolean> {
  if (request.method !== "POST") return false;
  const limit = { maxBytes: MAX_INITIALIZE_BYTES, advice: "Say less of the client." };
  const message = await readJsonObject(request, limit).catch(() => null);
  return message?.method === "initialize";
}

// The status by which a client knows that it has to begin anew.
function unknownConnection(): Response {
  const message = "The connection was closed. Send initialize to open another one.";
  return Response.json({ jsonrpc: "2.0", error: { code: -32001, message }, id: null }, { status: 404 });
}
