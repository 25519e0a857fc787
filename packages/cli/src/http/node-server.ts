import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream as NodeStream } from "node:stream/web";
import { invalid } from "@stemma/model";
export interface RunningServer {
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Serves a function from a request to a response on a port of this machine, 0 for a free one. Errors: `INVALID_ARGUMENT` for
 * a port that is taken, or a host that is none of this machine's.
 */
export async function serveNode(
  handler: (request: Request) => Promise<Response>,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<RunningServer> {
  const server = createServer((incoming, outgoing) => {
    answer(handler, incoming, outgoing).catch(() => outgoing.destroy());
  });
  await new Promise<void>((listening, refused) => {
    server.once("error", (error: NodeJS.ErrnoException) => refused(cannotListen(error, host, port)));
    server.listen(port, host, listening);
  });
  return { port: (server.address() as AddressInfo).port, close: () => close(server) };
}

async function answer(
  handler: (request: Request) => Promise<Response>,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const request = requestOf(incoming);
  // A client of HTTP/1.0 names no host, a broken one no address.
  if (request === null) return void outgoing.writeHead(400).end();
  const response = await handler(request);
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body === null) return void outgoing.end();
  await pipeline(Readable.fromWeb(response.body as NodeStream<Uint8Array>), outgoing);
}

function requestOf(incoming: IncomingMessage): Request | null {
  const { method = "GET", headers, headersDistinct, url } = incoming;
  try {
    const hasBody = method !== "GET" && method !== "HEAD";
    return new Request(new URL(`http://${headers.host}${url}`), {
      method,
      // Of a header that came twice Node's own list has the first alone: a second token would go unseen.
      headers: Object.entries(headersDistinct).flatMap(([name, values = []]) => values.map((value) => [name, value])),
      ...(hasBody ? { body: Readable.toWeb(incoming) as ReadableStream, duplex: "half" } : {}),
    } as RequestInit);
  } catch {
    return null;
  }
}

function cannotListen(error: NodeJS.ErrnoException, host: string, port: number): Error {
  const refuse = (message: string) => invalid(message, { host, port }, { cause: error });
  switch (error.code) {
    case "EADDRINUSE":
      return refuse(`Port ${port} is taken. Name another one with --port; --port 0 takes a free one.`);
    case "EACCES":
      return refuse(`You may not use port ${port}. Name one above 1023 with --port.`);
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return refuse(`"${host}" is no address of this machine. Name another one with --host.`);
    default:
      return error;
  }
}

function close(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((closed) => {
    server.close(() => closed());
  });
}

/** The hosts, each with its port, by which a server on this machine alone is reached. */
export function localHosts(port: number): string[] {
  return ["localhost", "127.0.0.1", "[::1]"].map((name) => `${name}:${port}`);
}

const MIN_LENGTH = 16;

/** 128 random bits. */
export function randomToken(): string {
  return randomBytes(16).toString("base64url");
}

/** Takes the same time wherever two texts differ. */
export function isEqualToken(token: string, secret: string): boolean {
  return timingSafeEqual(digest(token), digest(secret));
}

/** True for `Authorization: Bearer <secret>` and nothing else. The scheme may be in upper or lower case. */
export function isBearer(authorization: string | null, secret: string): boolean {
  const [, token] = /^bearer +(.*)$/i.exec(authorization ?? "") ?? [];
  return token !== undefined && isEqualToken(token, secret);
}

/** Throws `INVALID_ARGUMENT` for a token of the user's own that can be guessed, or that no header can hold. */
export function assertToken(token: string | undefined): void {
  if (token === undefined || (token.length >= MIN_LENGTH && /^[!-~]+$/.test(token))) return;
  throw invalid(`A token has at least ${MIN_LENGTH} characters, all of them visible ones of ASCII: no spaces.`);
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
