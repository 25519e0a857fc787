import { invalid } from "@stemma/model";
import type { Routes } from "./api.js";
import type { WriteInit } from "./client-options.js";

export type Route = keyof Routes;

const JSON_TYPE = "application/json";
export const LINES_TYPE = "application/x-ndjson";

/** The ids, filters and body of one call. */
export interface Asked {
  /** Those of the path, in their order. */
  readonly ids?: readonly string[] | undefined;
  readonly query?: object | undefined;
  readonly body?: unknown;
  readonly init?: WriteInit | undefined;
  /** The media type of the answer. Default: JSON. */
  readonly accept?: string | undefined;
}

/** Routes that send a body, although they only read. */
const READS_BY_POST = /^POST .*\/(query|search|recall)$/;

/** True for a route that writes nothing. */
export function isRead(route: string): boolean {
  return route.startsWith("GET ") || READS_BY_POST.test(route);
}

/** The arguments of a `fetch`. */
export type RequestParts = readonly [url: string, init: RequestInit];

/** A request that can be made again, with each token. */
export type MakeRequest = (bearer: string | undefined, signal: AbortSignal) => RequestParts;

/** Reads what a call is given, at once: what changes afterwards is not sent. Errors: `INVALID_ARGUMENT`. */
export function requestOf(
  baseUrl: string,
  route: Route,
  { query, body, init = {}, accept, ids = [] }: Asked,
): MakeRequest {
  const [method = "", path = ""] = route.split(" ");
  let next = 0;
  const search = new URLSearchParams(given(query));
  const url = `${baseUrl}${path.replace(/\{\w+\}/g, () => segmentOf(ids[next++]))}?${search}`;
  const isFile = route.endsWith("/import");
  const text = isFile ? body : textOf(body);
  const headers = given({
    accept: accept ?? JSON_TYPE,
    "content-type": body === undefined ? body : isFile ? LINES_TYPE : JSON_TYPE,
    "idempotency-key": isRead(route) ? undefined : (init.idempotencyKey ?? randomKey()),
    "if-match": init.ifMatch,
    "if-none-match": init.ifNoneMatch,
  });
  return (bearer, signal) => [
    url,
    {
      method,
      signal,
      headers: bearer === undefined ? headers : [...headers, ["authorization", `Bearer ${bearer}`]],
      body: text,
      // A stream needs it; nothing else minds.
      duplex: "half",
    } as RequestInit,
  ];
}

/** The fields that have a value. */
function given(fields: object = {}): [string, string][] {
  return Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
}

/** An id as a segment of a path. One that is empty, `.` or `..` would be lost there, and has a `~` before it. */
function segmentOf(id: unknown): string {
  if (typeof id !== "string" || /[\ud800-\udfff]/u.test(id)) throw invalid("An id must be a well-formed text.");
  return encodeURIComponent(/^(~.*|\.{0,2})$/s.test(id) ? `~${id}` : id);
}

function textOf(body: unknown): string {
  try {
    return JSON.stringify(body);
  } catch (cause) {
    throw invalid("The body must be JSON.", {}, { cause });
  }
}

// `randomUUID` is missing on pages that came without TLS.
const randomKey = () => crypto.getRandomValues(new Uint32Array(4)).join("-");
