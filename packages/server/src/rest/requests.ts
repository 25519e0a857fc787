import { invalid, sha256 } from "@stemma/model";

/** The names in the braces of a path. */
type NamesIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never;

/** The ids of a path by the names in its braces. */
export type PathIds<Path extends string> = Readonly<Record<NamesIn<Path>, string>>;

/** Throws `INVALID_ARGUMENT` for an address that is not percent-encoded UTF-8: it would be taken for what it is not. */
export function assertEncoded({ url }: Request): void {
  try {
    const { pathname, search } = new URL(url);
    decodeURIComponent(pathname + search);
  } catch (cause) {
    throw invalid("The address is not UTF-8 that is percent-encoded.", {}, { cause });
  }
}

/**
 * Reads the ids of a path. A segment cannot be empty, and URLs take `.` and `..` away: such an id has a `~` before it, and so has
 * one that begins with `~` itself.
 */
export function readIds<Path extends string>(path: Path, segments: Readonly<Record<string, string>>): PathIds<Path> {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
  const ids = names.map((name) => [name, readId(segments[name] ?? "")] as const);
  return Object.fromEntries(ids) as PathIds<Path>;
}

function readId(segment: string): string {
  return segment.startsWith("~") ? segment.slice(1) : segment;
}

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

/** A request, without its conditions where it is asked for again: they held when it was done. */
export async function withoutConditions(request: Request, isAgain?: () => Promise<boolean>): Promise<Request> {
  const isConditional = request.headers.has("if-match") || request.headers.has("if-none-match");
  if (!isConditional || !(await isAgain?.())) return request;
  const headers = new Headers(request.headers);
  headers.delete("if-match");
  headers.delete("if-none-match");
  const { bodyUsed, method, signal, url } = request;
  return bodyUsed ? new Request(url, { method, headers, signal }) : new Request(request, { headers });
}
