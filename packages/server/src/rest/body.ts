import { type JsonObject, readJsonObject } from "@stemma/model";
import { HttpRefusal } from "../http/problem.js";

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;

/** The body of a request as a JSON object; {} without a body. Errors: `REQUEST_TOO_LARGE`, `INVALID_ARGUMENT`, `UNSUPPORTED_MEDIA_TYPE`. */
export async function readBody(request: Request, maxBytes: number): Promise<JsonObject> {
  const length = request.headers.get("content-length");
  // Whoever asks a server of Node for a body as a stream has one made.
  if (length === "0" || (length === null && request.body === null)) return {};
  assertMediaType(request, JSON_TYPE, "application/json");
  return readJsonObject(request, { maxBytes, advice: "Send it in several requests." });
}

/** The bytes of a request's body. One that does not say how long it is counts as the largest. */
export function bytesOf(request: Request, maxBytes: number): number {
  const length = request.headers.get("content-length");
  // As above, the body is asked for only where nothing else tells.
  if (length === null) return request.body === null ? 0 : maxBytes;
  return /^\d{1,15}$/.test(length) ? Number(length) : maxBytes;
}

/** Refuses a body of another type, and a packed one: what it unpacks to would not be known. Errors: `UNSUPPORTED_MEDIA_TYPE`. */
export function assertMediaType({ headers }: Request, type: RegExp, name: string): void {
  const encoding = headers.get("content-encoding") ?? "identity";
  if (encoding.trim().toLowerCase() !== "identity")
    throw unsupported("The body must not be packed: leave content-encoding out.");
  if (!type.test(headers.get("content-type") ?? ""))
    throw unsupported(`The body must be ${name}, and content-type say so.`);
}

const unsupported = (message: string) => new HttpRefusal("UNSUPPORTED_MEDIA_TYPE", message);
