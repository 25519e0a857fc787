import type { McpScope } from "@stemma/mcp";
import { failed, refusal, refusalOfOrigin } from "@stemma/studio";
import { assertToken, isBearer, listen, localHosts, type RunningServer, randomToken } from "../http/listen.js";
import { createMcpRoute, type McpRouteOptions } from "./mcp-route.js";

const HOST = "127.0.0.1";
const PATH = "/mcp";

export interface ServeHttpOptions extends McpRouteOptions {
  /** 0 takes a free one. */
  readonly port: number;
  /** The token that a client has to send, of at least 16 characters. Default: a random one. */
  readonly token?: string | undefined;
}

export interface ServedMcp extends RunningServer {
  readonly url: string;
  readonly token: string;
}

/** Serves clients of this machine over HTTP, each request with `Authorization: Bearer <token>`. Errors: `INVALID_ARGUMENT`. */
export async function serveHttp(scope: McpScope, options: ServeHttpOptions): Promise<ServedMcp> {
  const { token = randomToken() } = options;
  assertToken(token);
  const { handle, close } = createMcpRoute(scope, options);
  let hosts: readonly string[] = [];
  const answer = async (request: Request): Promise<Response> => {
    const refused = refusalOfOrigin(request, hosts) ?? refusalOf(request, token);
    return refused === null ? handle(request) : failed(refused, scope.onError);
  };
  const server = await listen(answer, { host: HOST, port: options.port });
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
