import { createHash, randomBytes, randomUUID, timingSafeEqual } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { getRequestListener, RequestError } from "@hono/node-server";
import { invalid } from "@stemma/model";
import type { Problem } from "@stemma/server";

/** Longer than proxies keep a connection that nobody uses (60 seconds): it is they who close it. */
const KEEP_ALIVE = 65_000;
/** For the header of a request, then for its body: a client that sends a byte now and then holds nothing for long. */
const HEADER_WITHIN = 20_000;
const BODY_WITHIN = 120_000;

export interface RunningServer {
  readonly port: number;
  /** Breaks off what runs. */
  close(): Promise<void>;
}

export interface DrainingServer extends RunningServer {
  /** Asks clients from now on to take another connection. */
  leave(): void;
  /** Takes no connection more, and resolves when the requests that run are answered, at the latest after so many milliseconds. */
  drain(within: number): Promise<void>;
}

/** Hosts of this machine alone. */
const LOOPBACK: readonly string[] = ["127.0.0.1", "localhost", "::1"];

/** True for a host that only this machine reaches. */
export function isLoopback(host: string): boolean {
  return LOOPBACK.includes(host);
}

/** The hosts, each with its port, by which a server on this machine alone is reached. */
export function localHosts(port: number): string[] {
  return ["localhost", "127.0.0.1", "[::1]"].map((name) => `${name}:${port}`);
}

/** The address of a host and a port, as a URL without a slash at its end. */
export function addressOf(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/**
 * Serves a function from a request to a response on a port, 0 for a free one. The request's `signal` is aborted when its client
 * leaves. Errors: `INVALID_ARGUMENT` for a port that is taken, or a host that is none of this machine's.
 */
export async function listen(
  handler: (request: Request) => Promise<Response>,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<DrainingServer> {
  let isLeaving = false;
  const answer = getRequestListener(handler, { errorHandler: unanswered });
  // Who names no host is told so, as one who names what is none.
  const limits = {
    requireHostHeader: false,
    keepAliveTimeout: KEEP_ALIVE,
    headersTimeout: HEADER_WITHIN,
    requestTimeout: BODY_WITHIN,
  };
  const server = createServer(limits, (incoming, outgoing) => {
    if (isLeaving) outgoing.setHeader("connection", "close");
    void answer(incoming, outgoing);
  });
  await new Promise<void>((listening, refused) => {
    server.once("error", (error: NodeJS.ErrnoException) => refused(cannotListen(error, host, port)));
    server.listen(port, host, listening);
  });
  const leave = () => {
    isLeaving = true;
  };
  return {
    port: (server.address() as AddressInfo).port,
    leave,
    drain: (within) => {
      leave();
      const ended = closed(server);
      return Promise.race([ended, sleep(within, undefined, { ref: false }).then(() => server.closeAllConnections())]);
    },
    close: () => {
      const ended = closed(server);
      server.closeAllConnections();
      return ended;
    },
  };
}

/** The answer to a request that no handler can be given, as one whose `Host` is none. */
function unanswered(error: unknown): Response {
  const isRefused = error instanceof RequestError;
  const problem: Problem = {
    type: `urn:stemma:error:${isRefused ? "INVALID_ARGUMENT" : "INTERNAL"}`,
    title: isRefused ? "Bad request" : "The server failed",
    status: isRefused ? 400 : 500,
    code: isRefused ? "INVALID_ARGUMENT" : "INTERNAL",
    detail: isRefused ? "The address of the request, or its header Host, cannot be read." : "The server failed.",
    details: {},
    requestId: randomUUID(),
    retryable: false,
  };
  const headers = { "content-type": "application/problem+json; charset=utf-8", "cache-control": "no-store" };
  return new Response(JSON.stringify(problem), { status: problem.status, headers });
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
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
