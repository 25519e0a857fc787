import { invalid, once, StemmaError, unlessAborted } from "@stemma/model";
import { BROKE_OFF, lost, refusalOf } from "./answers.js";
import { assertOptions, CLIENT, isHeader, type ReadInit, type StemmaClientOptions } from "./client-options.js";
import type { MakeRequest } from "./request.js";

const TIMEOUT = 60_000;

/** Sends requests with a key or a token, and again where they failed for the moment. */
export class Sender {
  readonly baseUrl: string;
  #bearer: () => Promise<string | undefined>;

  /** `owner` is what has the options. `firstPause` is about the milliseconds until a request is sent again. */
  constructor(
    private readonly options: StemmaClientOptions,
    owner: string,
    private readonly retries: number,
    private readonly firstPause: number,
  ) {
    const { token, apiKey = environment("STEMMA_API_KEY"), baseUrl = environment("STEMMA_BASE_URL") ?? "" } = options;
    assertOptions(CLIENT, { ...options, apiKey, baseUrl }, owner);
    this.baseUrl = baseUrl.replace(/\/+$/, "");
    this.#bearer = async () => apiKey;
    if (token !== undefined) this.#renew(token);
  }

  /** Sends what `make` makes for each try, or for one with `isOnce`, until `read` has read an answer. Errors: those of `read`; a refusal; `CONNECTION_LOST`. */
  async send<T>(
    make: MakeRequest,
    read: (response: Response, limit: TimeLimit) => Promise<T>,
    init: ReadInit = {},
    isOnce?: boolean,
  ): Promise<T> {
    const { fetch, token, maxRetries = this.retries } = this.options;
    const { timeout = this.options.timeout ?? TIMEOUT, signal } = init;
    let hasNewToken = false;
    let isLost = false;
    for (let attempt = 0; ; ) {
      const bearerOf = this.#bearer;
      const bearer = await bearerOf();
      const limit = timeLimit(timeout, signal);
      let failure: StemmaError;
      try {
        const parts = make(bearer, limit.signal);
        // A `Request` would be made twice: `fetch` makes one of its own.
        const response = await limit.within(fetch ? fetch(new Request(...parts)) : globalThis.fetch(...parts));
        if (response.ok) return await read(response, limit);
        throw refusalOf(response, await limit.within(response.text()));
      } catch (error) {
        limit.end();
        failure = failureOf(error, init, "The connection failed.");
      }
      if (failure.details.status === 401 && token !== undefined) {
        // Another call may have got a new one meanwhile.
        if (this.#bearer === bearerOf) this.#renew(token);
        if (!hasNewToken && !isOnce) {
          hasNewToken = true;
          continue;
        }
      }
      const wait = attempt < maxRetries && !isOnce ? pauseBefore(attempt, failure, this.firstPause) : null;
      // A server that fails could not look what came of the request before.
      if (wait === null) throw isLost && Number(failure.details.status) >= 500 ? lost(BROKE_OFF, failure) : failure;
      isLost ||= failure.code === "CONNECTION_LOST";
      attempt += 1;
      await pause(wait, signal);
    }
  }

  #renew(token: () => Promise<string>): void {
    this.#bearer = once(async () => {
      const given = await token();
      if (!isHeader(given)) throw invalid("The token must be visible ASCII.");
      return given;
    });
  }
}

/** The pieces of an answer, as they come. Errors: `CONNECTION_LOST` where it breaks off. */
export async function* piecesOf(response: Response, limit: TimeLimit, init?: ReadInit): AsyncGenerator<string> {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  // For a small answer, a TextDecoderStream takes longer.
  const decoder = new TextDecoder();
  let done: boolean | undefined;
  try {
    while (!done) {
      const read = await limit.within(reader.read());
      done = read.done;
      yield decoder.decode(read.value, { stream: !done });
    }
  } catch (error) {
    throw failureOf(error, init, BROKE_OFF);
  } finally {
    limit.end(done);
    reader.cancel().catch(() => {});
  }
}

/** Where the caller left, this throws the reason of the signal. */
function failureOf(error: unknown, init: ReadInit | undefined, why: string): StemmaError {
  init?.signal?.throwIfAborted();
  return StemmaError.isInstance(error) ? error : lost(why, error);
}

/** True for an answer of a media type. */
export function isOf({ headers }: Response, type: string): boolean {
  return headers.get("content-type")?.toLowerCase().startsWith(type) ?? false;
}

function environment(name: string): string | undefined {
  const { process } = globalThis as { process?: { readonly env?: Readonly<Record<string, string | undefined>> } };
  return process?.env?.[name] || undefined;
}

const LONGEST_PAUSE = 8_000;
/** Seconds. Whoever is told to wait longer is not kept waiting. */
const MOST_PATIENCE = 60;

/** Milliseconds until the next try, the first being 0; null for what is not tried again. A write has a key, and is done once. */
function pauseBefore(attempt: number, { code, details }: StemmaError, firstPause: number): number | null {
  const { status = 0, retryAfter = 0 } = details as { status?: number; retryAfter?: number };
  const mayPass = code === "CONNECTION_LOST" || [429, 502, 503, 504].includes(status);
  if (!mayPass || retryAfter > MOST_PATIENCE) return null;
  return retryAfter * 1_000 + Math.random() * Math.min(LONGEST_PAUSE, firstPause * 2 ** attempt);
}

const NEVER = new AbortController().signal;

/** Waits, or rejects with the signal's reason when that is aborted. */
export function pause(milliseconds: number, signal: AbortSignal = NEVER): Promise<void> {
  return unlessAborted(new Promise((wake) => setTimeout(wake, milliseconds)), signal);
}

export type TimeLimit = ReturnType<typeof timeLimit>;

/** Ends what takes too long, or what the caller no longer wants. */
function timeLimit(milliseconds: number, outer: AbortSignal | undefined) {
  const controller = new AbortController();
  const { signal } = controller;
  const leave = () => controller.abort(outer?.reason);
  outer?.addEventListener("abort", leave);
  if (outer?.aborted) leave();
  return {
    signal,
    /** Gives a task the whole time. It fails when the time is over, also where it does not heed the signal. */
    async within<T>(task: Promise<T>): Promise<T> {
      const late = () => controller.abort(lost(`No answer came within ${milliseconds} ms.`));
      const timer = setTimeout(late, milliseconds);
      try {
        return await unlessAborted(task, signal);
      } finally {
        clearTimeout(timer);
      }
    },
    /** Ends it: what is still sent is cut. Where all came, to abort would only take time. */
    end(isWhole?: boolean) {
      outer?.removeEventListener("abort", leave);
      if (!isWhole) controller.abort();
    },
  };
}
