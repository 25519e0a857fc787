import { type ErrorCode, StemmaError, shorten } from "@stemma/model";

type Fields = Readonly<Record<string, unknown>>;

/** The object that a JSON text says; null for any other text. The server holds it to a depth. */
export function findObject(text: string): Fields | null {
  try {
    return asObject(JSON.parse(text));
  } catch {
    return null;
  }
}

/** An object; null for any other value. */
function asObject(value: unknown): Fields | null {
  return typeof value === "object" && !Array.isArray(value) ? (value as Fields | null) : null;
}

/** Codes of the server itself, beside the library's codes. */
const OF_THE_SERVER = /^(METHOD_NOT_ALLOWED|UNSUPPORTED_MEDIA_TYPE|FOREIGN_HOST|INTERNAL)$/;

/** The error for an answer that refuses, or is not as the API says: `REQUEST_REFUSED` for what is not Stemma's, such as a proxy's page. */
export function refusalOf({ status, headers } = new Response(), text = ""): StemmaError {
  const { type, code, detail, details, requestId = headers.get("x-request-id") } = findObject(text) ?? {};
  // Seconds; a proxy says them in the header alone.
  const retryAfter = Number.parseFloat(headers.get("retry-after") ?? "") || 0;
  const about = { retryAfter, ...asObject(details), status, requestId };
  const isOurs = typeof code === "string" && type === `urn:stemma:error:${code}`;
  const message = isOurs ? String(detail) : `No answer of Stemma, but ${status}: ${shorten(text)}`;
  if (isOurs && !OF_THE_SERVER.test(code)) return new StemmaError(code as ErrorCode, about, message);
  return new StemmaError("REQUEST_REFUSED", { ...about, code: isOurs ? code : null }, message);
}

export const BROKE_OFF = "The answer broke off.";

/** The error for a request without a whole answer. */
export function lost(why: string, cause?: unknown): StemmaError {
  return new StemmaError("CONNECTION_LOST", {}, `${why} A write may have been stored or not.`, { cause });
}

/** The lines of a text that comes in pieces. Errors: `CONNECTION_LOST` where the last one has no end. */
export async function* linesOf(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = "";
  for await (const piece of pieces) {
    const [first = "", ...others] = piece.split("\n");
    rest += first;
    for (const other of others) {
      yield rest.replace(/\r$/, "");
      rest = other;
    }
  }
  if (rest !== "") throw lost(BROKE_OFF);
}

/** The JSON of each line. Errors: `REQUEST_REFUSED` where a line has none. */
export async function* valuesOf<T>(pieces: AsyncIterable<string>): AsyncGenerator<T> {
  for await (const line of linesOf(pieces)) {
    const value = findObject(line);
    if (value === null) throw refusalOf();
    yield value as T;
  }
}
