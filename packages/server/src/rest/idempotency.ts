import { invalid, sha256 } from "@stemma/model";

/** Characters of a key, as other services take them. */
const MOST_CHARACTERS = 255;

/** The `Idempotency-Key` of a request; null without one. Errors: `INVALID_ARGUMENT`. */
export function keyOf({ headers }: Request): string | null {
  const key = headers.get("idempotency-key");
  if (key === null) return null;
  if (key.length > 0 && key.length <= MOST_CHARACTERS && /^[!-~]+$/.test(key)) return key;
  throw invalid(`An Idempotency-Key has 1 to ${MOST_CHARACTERS} visible characters of ASCII.`);
}

/** Tells whether two requests ask for the same. Of a body that is a stream, its length is compared. */
export function fingerprintOfRequest({ method, url, headers }: Request, body: unknown): string {
  const { pathname, search } = new URL(url);
  const content = body === undefined ? headers.get("content-length") : body;
  return sha256(JSON.stringify([method, pathname, search, content]));
}

/** A request that is asked for again, without its conditions: they held when it was done. */
export function withoutConditions(request: Request): Request {
  const headers = new Headers(request.headers);
  headers.delete("if-match");
  headers.delete("if-none-match");
  const { bodyUsed, method, signal, url } = request;
  return bodyUsed ? new Request(url, { method, headers, signal }) : new Request(request, { headers });
}
