import { type ErrorCode, StemmaError, shorten } from "@stemma/model";
import { asObject, findObject } from "./find-object.js";

/** Codes of the server itself, beside the library's codes. */
const OF_THE_SERVER = /^(NOT_FOUND|METHOD_NOT_ALLOWED|UNSUPPORTED_MEDIA_TYPE|FOREIGN_HOST|INTERNAL)$/;

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
