import { invalid, StemmaError } from "../errors.js";
import { findJsonObject, type JsonObject } from "./json.js";

export interface BodyLimit {
  readonly maxBytes: number;
  /** Says what to do when it is too large. */
  readonly advice: string;
}

/** Reads the body of a request as a text. Errors: `REQUEST_TOO_LARGE`, `INVALID_TEXT`; `INVALID_ARGUMENT` for one that breaks off. */
export async function readBodyText(request: Request, { maxBytes, advice }: BodyLimit): Promise<string> {
  const text = await readText(request, maxBytes);
  if (text !== null) return text;
  throw new StemmaError("REQUEST_TOO_LARGE", { maxBytes }, `The request is larger than ${maxBytes} bytes. ${advice}`);
}

/** Reads the body of a request as a JSON object. Errors: `REQUEST_TOO_LARGE`, `INVALID_TEXT`; `INVALID_ARGUMENT`, also for one that breaks off. */
export async function readJsonObject(request: Request, limit: BodyLimit): Promise<JsonObject> {
  const body = findJsonObject(await readBodyText(request, limit));
  if (body === null) throw invalid("The body of the request must be a JSON object.");
  return body;
}

// Null for a body that is larger.
async function readText(request: Request, maxBytes: number): Promise<string | null> {
  const length = request.headers.get("content-length");
  if (Number(length ?? 0) > maxBytes) return null;
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const decode = (bytes?: Uint8Array<ArrayBuffer>) => {
    try {
      return decoder.decode(bytes, { stream: bytes !== undefined });
    } catch (cause) {
      throw new StemmaError("INVALID_TEXT", {}, "The body of the request is not UTF-8.", { cause });
    }
  };
  const brokeOff = (cause: unknown) => {
    throw invalid("The body of the request broke off.", {}, { cause });
  };
  // Where its length is known, it is read whole, which takes a server of Node a fraction of the time of a stream.
  if (length !== null && /^\d+$/.test(length)) {
    const bytes = new Uint8Array(await request.arrayBuffer().catch(brokeOff));
    return bytes.byteLength > maxBytes ? null : decode(bytes) + decode();
  }
  let text = "";
  let size = 0;
  const reader = request.body?.getReader();
  const next = () => reader?.read().catch(brokeOff);
  for (let read = await next(); read !== undefined && !read.done; read = await next()) {
    size += read.value.byteLength;
    if (size > maxBytes) {
      await reader?.cancel();
      return null;
    }
    text += decode(read.value);
  }
  return text + decode();
}

/**
 * The bytes of a stream, read as they are asked for. `ended` is called once they are read to the end, fail or are given up. When
 * `signal` is aborted, they are at their end; where its reason is a `StemmaError`, they fail with that.
 */
export function untilEnd(
  body: ReadableStream<Uint8Array>,
  ended: () => void,
  signal?: AbortSignal,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  reader.closed.then(ended, ended);
  signal?.addEventListener("abort", () => void reader.cancel().catch(() => {}), { once: true });
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const { done, value } = await reader.read();
        if (StemmaError.isInstance(signal?.reason)) throw signal.reason;
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}
