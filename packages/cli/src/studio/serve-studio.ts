import { spawn } from "node:child_process";
import { invalid } from "@stemma/model";
import type { Store } from "@stemma/store";
import { createStudio, failed, refusalOfOrigin, respond } from "@stemma/studio";
import {
  addressOf,
  assertToken,
  isEqualToken,
  isLoopback,
  listen,
  localHosts,
  type RunningServer,
  randomToken,
} from "../http/listen.js";

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

/** Serves the studio of a store to whoever has its link. Errors: `INVALID_ARGUMENT`. */
export async function serveStudio(store: Store, options: ServeStudioOptions): Promise<ServedStudio> {
  const { host = "127.0.0.1", token, write, onError } = options;
  assertGuarded(host, token);
  const isLocal = isLoopback(host);
  let handler = async (_request: Request): Promise<Response> => new Response(null, { status: 503 });
  const server = await listen((request) => handler(request), { host, port: options.port });
  const { port } = server;
  // Of another machine nobody knows by which names it is reached; there only the token counts.
  const hosts = isLocal ? localHosts(port) : undefined;
  const gate = createTokenGate(`stemma-studio-${port}`, token);
  const studio = createStudio(store, { authorize: gate.authorize, basePath: "/", write, hosts, onError });
  handler = async (request) => {
    const foreign = refusalOfOrigin(request, hosts);
    return foreign === null ? (gate.exchange(request) ?? studio(request)) : failed(foreign, onError);
  };
  return { ...server, link: () => `${addressOf(host, port)}/?token=${encodeURIComponent(token ?? gate.issue())}` };
}

function assertGuarded(host: string, token: string | undefined): void {
  if (token === undefined && !isLoopback(host)) {
    const message = `With --host ${host} others can reach the studio: give a secret with --token, or STEMMA_STUDIO_TOKEN, too.`;
    throw invalid(message, { host });
  }
  assertToken(token);
}

const DAY = 24 * 60 * 60;

/** Lets in who has a token, and from then on the browser that it was given to. */
interface TokenGate {
  issue(): string;
  /** True for a request with the cookie. */
  authorize(request: Request): boolean;
  /** Of a request with a token that fits: a redirect to the address without it, with the cookie. Null for any other. */
  exchange(request: Request): Response | null;
}

/** `secret` is a token that can be used again; `name` tells the cookies of several servers on one host apart. */
export function createTokenGate(name: string, secret: string | undefined): TokenGate {
  const cookie = randomToken();
  const issued = new Set<string>();
  const take = (token: string): boolean => {
    if (secret !== undefined && isEqualToken(token, secret)) return true;
    const found = [...issued].find((each) => isEqualToken(token, each));
    return found !== undefined && issued.delete(found);
  };
  const authorize = (request: Request) => cookiesOf(request, name).some((value) => isEqualToken(value, cookie));
  return {
    issue: () => {
      const token = randomToken();
      issued.add(token);
      return token;
    },
    authorize,
    exchange: (request) => {
      const url = new URL(request.url);
      const [token, ...others] = url.searchParams.getAll("token");
      if (token === undefined || others.length > 0 || request.method !== "GET") return null;
      // Who has the cookie needs no token: a link that is clicked twice opens twice.
      if (!take(token) && !authorize(request)) return null;
      url.searchParams.delete("token");
      // A path that begins with two slashes would name another host.
      const path = url.pathname.replace(/^\/+/, "/");
      return respond(null, {
        status: 303,
        headers: {
          location: `${path}${url.search}`,
          "set-cookie": `${name}=${cookie}; Path=/; Max-Age=${DAY}; HttpOnly; SameSite=Strict`,
        },
      });
    },
  };
}

function cookiesOf(request: Request, name: string): string[] {
  const pairs = (request.headers.get("cookie") ?? "").split(";").map((pair) => pair.trim());
  return pairs.filter((pair) => pair.startsWith(`${name}=`)).map((pair) => pair.slice(name.length + 1));
}

const COMMANDS: Partial<Record<NodeJS.Platform, readonly [command: string, ...args: string[]]>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

/** Opens an address in the user's browser. Where that fails nothing happens: the address is printed as well. */
export function openBrowser(url: string): void {
  const [command, ...args] = COMMANDS[process.platform] ?? ["xdg-open"];
  const child = spawn(command, [...args, url], { stdio: "ignore", detached: true });
  child.on("error", () => {});
  child.unref();
}
