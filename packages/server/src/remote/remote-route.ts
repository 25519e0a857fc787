import { invalid, perObject, readBodyText, StemmaError, sleep, stringifyTagged } from "@stemma/model";
import type { RemoteCall, RemoteFailure, Store } from "@stemma/store";
import { HttpRefusal, statusOf } from "../http/problem.js";
import type { ServerApp } from "../http/server-app.js";
import type { ServerOptions } from "../http/server-options.js";
import { assertMediaType, bytesOf } from "../rest/body.js";
import { textStream } from "../rest/streams.js";
import { countWrites, mayWrite } from "./counted-calls.js";
import { remoteRequestIn } from "./remote-request.js";
import { rowOf, StoreCalls } from "./store-calls.js";

const JSON_TYPE = /^application\/json\s*(?:;|$)/i;
const LINES = { "content-type": "application/x-ndjson; charset=utf-8", "cache-control": "no-store" };
const ADVICE = "Make fewer calls at once.";

/** Milliseconds for which an answer waits to be whole. Then what is there is sent, and the rest as it comes. */
const WHOLE_WITHIN = 20;
/** Milliseconds between signs of life, while calls run. */
const BEAT = 10_000;
/** Streams of a principal that are open at once. */
const MOST_STREAMS = 64;

const streamsOf = perObject((_store: Store) => ({ count: 0 }));

/** `POST /v1/rpc`: the calls of `stemma/remote`, on the store of the request's principal. */
export function remoteRoute(app: ServerApp, options: ServerOptions, maxBytes: number): void {
  app.post("/v1/rpc", async (c) => {
    assertMediaType(c.req.raw, JSON_TYPE, "application/json");
    const request = remoteRequestIn(await readBodyText(c.req.raw, { maxBytes, advice: ADVICE }));
    const { calls } = request;
    const { store, principal, requestId, spend, wasDone, numbersDone } = c.var;
    const made = new StoreCalls(store, request);
    const isAdmin = principal.access === "admin";
    const failed = (error: unknown): RemoteFailure => {
      if (statusOf(error, false) === 500) options.onError?.(error, requestId);
      return failureOf(error, isAdmin);
    };
    const stream = calls.find((call) => rowOf(call).isStream);
    // The request itself was counted.
    if (calls.length > 1) {
      options.limits?.count(principal, calls.length - 1);
      await spend({ requests: calls.length - 1 });
    }
    let refused: RemoteFailure | null = null;
    try {
      await countWrites(request, made, bytesOf(c.req.raw, maxBytes), { spend, wasDone, numbersDone });
    } catch (error) {
      // What only reads is answered.
      c.set("failure", error);
      refused = failed(error);
    }
    const lineFor = async (call: RemoteCall) =>
      refused !== null && mayWrite(call) ? `${failureLine({ n: call.n }, refused)}\n` : lineOf(made, call, failed);
    if (stream === undefined) {
      const lines = calls.map(lineFor);
      made.end();
      return answer(lines);
    }
    if (calls.length > 1) throw invalid("A stream is the only call of its request.");
    return textStream(streamed(made, stream, store, failed), LINES["content-type"]);
  });
}

type Failed = (error: unknown) => RemoteFailure;

async function lineOf(made: StoreCalls, call: RemoteCall, failed: Failed): Promise<string> {
  const { n } = call;
  try {
    const value = await made.make(call);
    return `${stringifyTagged(value === undefined ? { n } : { n, value })}\n`;
  } catch (error) {
    return `${failureLine({ n }, failed(error))}\n`;
  }
}

function failureLine(about: object, error: RemoteFailure): string {
  try {
    return stringifyTagged({ ...about, error });
  } catch {
    return stringifyTagged({ ...about, error: { ...error, details: {} } });
  }
}

/** The lines as they come. */
async function answer(lines: readonly Promise<string>[]): Promise<Response> {
  const all = Promise.all(lines);
  const whole = await Promise.race([all, sleep(WHOLE_WITHIN)]);
  if (whole !== undefined) return new Response(whole.join(""), { headers: LINES });
  const encoder = new TextEncoder();
  let beat: ReturnType<typeof setInterval> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      const send = (text: string) => controller.enqueue(encoder.encode(text));
      beat = setInterval(() => send("\n"), BEAT);
      const sent = lines.map(async (line) => {
        const text = await line;
        // The client may have left.
        if (beat !== undefined) send(text);
      });
      Promise.all(sent).then(() => {
        if (beat === undefined) return;
        clearInterval(beat);
        controller.close();
      });
    },
    cancel() {
      clearInterval(beat);
      beat = undefined;
    },
  });
  return new Response(body, { headers: { ...LINES, "x-accel-buffering": "no" } });
}

async function* streamed(made: StoreCalls, call: RemoteCall, store: Store, failed: Failed): AsyncGenerator<string> {
  const streams = streamsOf(store);
  if (streams.count >= MOST_STREAMS) {
    const message = `A key may read ${MOST_STREAMS} streams at once.`;
    throw new StemmaError("RATE_LIMITED", { retryAfter: 1 }, message);
  }
  streams.count += 1;
  try {
    const leafId = await made.leafOf(call);
    const values = leafId === undefined ? call.values : [{ ...(call.values[0] as object), leafId }];
    const iterator = made.stream({ ...call, values })[Symbol.asyncIterator]();
    try {
      let next = await iterator.next();
      yield `${stringifyTagged(leafId === undefined ? { open: true } : { open: true, leafId })}\n`;
      for (let seen = 0; !next.done; seen += 1) {
        if (seen >= (call.skip ?? 0)) yield `${stringifyTagged({ value: next.value })}\n`;
        next = await iterator.next();
      }
      yield `${stringifyTagged({ end: true })}\n`;
    } finally {
      await iterator.return?.();
    }
  } catch (error) {
    yield `${failureLine({}, failed(error))}\n`;
  } finally {
    streams.count -= 1;
  }
}

/** Of a fault of the server, only an administrator is told more than its code. */
function failureOf(error: unknown, isAdmin: boolean): RemoteFailure {
  const isKnown = StemmaError.isInstance(error);
  const code = isKnown ? error.code : "INTERNAL";
  if (!isAdmin && statusOf(error, false) === 500) {
    return { code, message: "The server failed. Its log says why.", details: {} };
  }
  const { message, cause } = error instanceof Error ? error : new HttpRefusal("INTERNAL", String(error));
  const told = isAdmin && cause instanceof Error ? { cause: { name: cause.name, message: cause.message } } : {};
  return { code, message, details: isKnown ? error.details : {}, ...told };
}
