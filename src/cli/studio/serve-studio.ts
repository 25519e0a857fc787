import { invalid } from "../../errors.js";
import type { Store } from "../../storage/contract.js";
import { createStudio } from "../../studio/create-studio.js";
import { failed } from "../../studio/http/failure.js";
import { refusalOfOrigin } from "../../studio/http/origin.js";
import { localHosts } from "../http/local-hosts.js";
import { type RunningServer, serveNode } from "../http/node-server.js";
import { assertToken } from "../http/token.js";
import { createTokenGate } from "./token-gate.js";

export interface ServeStudioOptions {
  /** 0 takes a free one. */
  readonly port: number;
  readonly write: boolean;
  /** Default 127.0.0.1. Any that is not this machine alone needs a token. */
  readonly host?: string | undefined;
  /** A token that can be used again, of at least 16 characters. Default: random ones, each for one use. */
  readonly token?: string | undefined;
  readonly onError: (error: unknown) => void;
}

export interface ServedStudio extends RunningServer {
  /** An address that opens the studio, once unless a token was given. */
  link(): string;
}

const LOOPBACK = ["127.0.0.1", "localhost", "::1"];

/** Serves the studio of a store to whoever has its link. Errors: `INVALID_ARGUMENT`. */
export async function serveStudio(store: Store, options: ServeStudioOptions): Promise<ServedStudio> {
  const { host = "127.0.0.1", token, write, onError } = options;
  assertGuarded(host, token);
  const isLocal = LOOPBACK.includes(host);
  let handler = async (_request: Request): Promise<Response> => new Response(null, { status: 503 });
  const server = await serveNode((request) => handler(request), { host, port: options.port });
  const { port } = server;
  // Of another machine nobody knows by which names it is reached; there only the token counts.
  const hosts = isLocal ? localHosts(port) : undefined;
  const gate = createTokenGate(`stemma-studio-${port}`, token);
  const studio = createStudio(store, { authorize: gate.authorize, basePath: "/", write, hosts, onError });
  handler = async (request) => {
    const foreign = refusalOfOrigin(request, hosts);
    return foreign === null ? (gate.exchange(request) ?? studio(request)) : failed(foreign, onError);
  };
  const shown = host === "::1" ? "[::1]" : host;
  return { ...server, link: () => `http://${shown}:${port}/?token=${encodeURIComponent(token ?? gate.issue())}` };
}

function assertGuarded(host: string, token: string | undefined): void {
  if (token === undefined && !LOOPBACK.includes(host)) {
    const message = `With --host ${host} others can reach the studio: give a secret with --token, or STEMMA_STUDIO_TOKEN, too.`;
    throw invalid(message, { host });
  }
  assertToken(token);
}
