import { findObject, refusalOf } from "./answers.js";
import type { Routes } from "./api.js";
import { assertOptions, INIT, type StemmaClientOptions } from "./client-options.js";
import { type Asked, type Route, requestOf } from "./request.js";
import { isOf, piecesOf, Sender, type TimeLimit } from "./sender.js";

const RETRIES = 2;
const FIRST_PAUSE = 500;

/** Asks the routes of the API, and reads their answers. */
export class Transport {
  readonly #sender: Sender;
  readonly #tags = new WeakMap<object, string>();

  constructor(options: StemmaClientOptions) {
    this.#sender = new Sender(options, "StemmaClient", RETRIES, FIRST_PAUSE);
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
      limit.end(true);
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
    yield* await this.#send(route, asked, async (response, limit) => {
      if (!isOf(response, asked.accept) || response.body === null) throw refusalOf(response);
      return piecesOf(response, limit, asked.init);
    });
  }

  async #send<T>(route: Route, asked: Asked, read: (response: Response, limit: TimeLimit) => Promise<T>): Promise<T> {
    const { init, body } = asked;
    assertOptions(INIT, { ...init }, "a call of StemmaClient");
    const make = requestOf(this.#sender.baseUrl, route, asked);
    // What was read of a stream does not come again.
    return this.#sender.send(make, read, init, body instanceof ReadableStream);
  }
}
