import { invalid, kindOf, quote, StemmaError } from "../errors.js";
import { findJsonObject, isJsonObject, type JsonObject } from "./json.js";
/** The names of the options that `Options` has, all of them. */
export type OptionNames<Options> = Readonly<Record<keyof Options, true>>;

/** Throws `INVALID_ARGUMENT` for options that are no object. */
export function assertOptions(value: unknown, method: string): void {
  if (isJsonObject(value)) return;
  throw invalid(`The options of ${method} are an object; got ${kindOf(value)}.`);
}

/** Refuses anything but an object, and an option of another name: one that is misspelt would confine nothing. */
export function assertKnownOptions(value: unknown, method: string, names: Readonly<Record<string, true>>): void {
  assertOptions(value, method);
  const unknown = Object.keys(value as object).find((name) => !Object.hasOwn(names, name));
  if (unknown === undefined) return;
  const known = Object.keys(names).join(", ");
  throw invalid(`The options of ${method} are ${known}; ${quote(unknown)} is none of them.`, { option: unknown });
}

/** Reads the body of a request as a JSON object; `advice` says what to do when it is too large. Errors: `REQUEST_TOO_LARGE`, `INVALID_ARGUMENT`. */
export async function readJsonObject(
  request: Request,
  { maxBytes, advice }: { readonly maxBytes: number; readonly advice: string },
): Promise<JsonObject> {
  const text = await readText(request, maxBytes);
  if (text === null) {
    throw new StemmaError("REQUEST_TOO_LARGE", { maxBytes }, `The request is larger than ${maxBytes} bytes. ${advice}`);
  }
  const body = findJsonObject(text);
  if (body === null) throw invalid("The body of the request must be a JSON object.");
  return body;
}

// Null for a body that is larger.
async function readText(request: Request, maxBytes: number): Promise<string | null> {
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) return null;
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  const reader = request.body?.getReader();
  for (let read = await reader?.read(); read !== undefined && !read.done; read = await reader?.read()) {
    size += read.value.byteLength;
    if (size > maxBytes) {
      await reader?.cancel();
      return null;
    }
    text += decoder.decode(read.value, { stream: true });
  }
  return text + decoder.decode();
}
