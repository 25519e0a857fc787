import { invalid, once, StemmaError } from "@stemma/model";
import type { Routes } from "./api.js";
import { assertOptions, CLIENT, INIT, isHeader, type StemmaClientOptions } from "./client-options.js";
import { lost, refusalOf } from "./failures.js";
import { findObject } from "./find-object.js";
import { type Asked, type Route, requestOf } from "./request.js";
import { pause, pauseBefore } from "./retries.js";
import { type TimeLimit, timeLimit } from "./time-limit.js";

const TIMEOUT = 60_000;
const RETRIES = 2;

/** Sends requests, again where that is safe, and reads their answers. */
export class Transport {
  readonly #options: StemmaClientOptions;
  readonly #baseUrl: string;
  readonly #tags = new WeakMap<object, string>();
  #bearer: () => Promise<string | undefined>;

  constructor(options: StemmaClientOptions) {
    const { token, apiKey = environment("STEMMA_API_KEY"), baseUrl = environment("STEMMA_BASE_URL") ?? "" } = options;
    assertOptions(CLIENT, { ...options, apiKey, baseUrl }, "StemmaClient");
    this.#baseUrl = baseUrl;
    this.#options = options;
    this.#bearer = async () => apiKey;
    if (token !== undefined) this.#renew(token);
  }

  /** The tag of the version that an answer gave; undefined where it has none. */
  tagOf(answer: object): string | undefined {
    return this.#tags.get(answer);
  }

  /** Calls a route whose answer is JSON, or nothing. */
  call<R extends Route>(route: R, asked: Asked): Promise<Routes[R]["answer"]>;
  async call(route: Route, asked: Asked): Promise<unknown> {
    return this.#send(route, asked, async (response, limit) => {
      const text = await limit.within(response.text());
      limit.end();
      if (response.status === 204) return undefined;
      const answer = isOf(response, "application/json") ? findObject(text) : null;
      if (answer === null) throw refusalOf(response, text);
      const tag = response.headers.get("etag");
      if (tag !== null) this.#tags.set(answer, tag);
      return answer;
    });
  }

  /** The text of an answer, as it comes. Errors: `CONNECTION_LOST` where it breaks off. */
  async *text(route: Route, asked: Asked & { readonly accept: string }): AsyncGenerator<string> {
    const { reader, limit } = await this.#send(route, asked, async (response, limit) => {
      if (!isOf(response, asked.accept) || response.body === null) throw refusalOf(response);
      return { reader: response.body.pipeThrough(new TextDecoderStream()).getReader(), limit };
    });
    try {
      for (;;) {
        const { done, value } = await limit.within(reader.read());
        if (done) return;
        yield value;
      }
    } catch (error) {
      throw failureOf(error, asked, "The answer broke off.");
    } finally {
      limit.end();
      reader.cancel().catch(() => {});
    }
  }

  async #send<T>(route: Route, asked: Asked, read: (response: Response, limit: TimeLimit) => Promise<T>): Promise<T> {
    const { init = {}, body } = asked;
    assertOptions(INIT, { ...init }, "a call of StemmaClient");
    const { maxRetries = RETRIES, fetch = globalThis.fetch, token } = this.#options;
    const { timeout = this.#options.timeout ?? TIMEOUT, signal } = init;
    const make = requestOf(this.#baseUrl, route, asked);
    // What was read of a stream does not come again.
    const isOnce = body instanceof ReadableStream;
    let hasNewToken = false;
    for (let attempt = 0; ; ) {
      const bearerOf = this.#bearer;
      const bearer = await bearerOf();
      const limit = timeLimit(timeout, signal);
      let failure: StemmaError;
      try {
        const response = await limit.within(fetch(make(bearer, limit.signal)));
        if (response.ok) return await read(response, limit);
        throw refusalOf(response, await limit.within(response.text()));
      } catch (error) {
        limit.end();
        failure = failureOf(error, asked, "The connection failed.");
      }
      if (failure.details.status === 401 && token !== undefined) {
        // Another call may have got a new one meanwhile.
        if (this.#bearer === bearerOf) this.#renew(token);
        if (!hasNewToken && !isOnce) {
          hasNewToken = true;
          continue;
        }
      }
      const wait = attempt < maxRetries && !isOnce ? pauseBefore(attempt, failure) : null;
      if (wait === null) throw failure;
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

/** Where the caller left, this throws the reason of the signal. */
function failureOf(error: unknown, { init }: Asked, why: string): StemmaError {
  init?.signal?.throwIfAborted();
  return StemmaError.isInstance(error) ? error : lost(why, error);
}

function isOf({ headers }: Response, type: string): boolean {
  return headers.get("content-type")?.toLowerCase().startsWith(type) ?? false;
}

function environment(name: string): string | undefined {
  const { process } = globalThis as { process?: { readonly env?: Readonly<Record<string, string | undefined>> } };
  return process?.env?.[name] || undefined;
}
