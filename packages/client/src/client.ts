import type { ErasureReceipt, FoundEntry, Hit, Operation, QuotaUse, Token } from "./api.js";
import { type Change, type ChangesQuery, changesOf } from "./changes.js";
import type { ReadInit, StemmaClientOptions, WriteInit } from "./client-options.js";
import type { Pages } from "./pages.js";
import { Compactions, Messages, Tree } from "./resources/history-resources.js";
import { Memory } from "./resources/memory-resources.js";
import { type Answer, type Body, Resource } from "./resources/resource.js";
import { Records, Sessions, Turns, Usage } from "./resources/session-resources.js";
import { Transport } from "./transport.js";

/** The user of a token, and how far it reaches. */
export interface NewToken {
  readonly userId: string;
  /** The tenant, where the key is of none. */
  readonly tenant?: string | undefined;
  readonly project?: string | undefined;
  /** Keys of memory that it reaches. */
  readonly keys?: readonly string[] | undefined;
  readonly readOnly?: boolean | undefined;
  /** Seconds until it expires. */
  readonly ttl?: number | undefined;
}

/**
 * Calls the REST API of a server. What fails for the moment is sent again; a write has a key, and takes effect once.
 * Errors of its calls: a `StemmaError` with the server's code, and with `status` and `requestId` in its details; `CONNECTION_LOST` if no
 * answer came; `REQUEST_REFUSED` for an answer of something else. A call whose signal is aborted rejects with the signal's reason.
 * Errors: `INVALID_ARGUMENT` for wrong options.
 * @example
 * import { StemmaClient } from "stemma/client";
 *
 * const client = new StemmaClient({ baseUrl: "https://memory.example.com", apiKey: "stm_…" });
 * await client.messages.append("trip", { id: "q1", role: "user", parts: [{ type: "text", text: "When does the ferry go?" }] });
 * for await (const message of client.messages.list("trip")) console.log(message.parts);
 */
export class StemmaClient extends Resource {
  readonly sessions = new Sessions(this.transport);
  readonly messages = new Messages(this.transport);
  readonly tree = new Tree(this.transport);
  readonly compactions = new Compactions(this.transport);
  readonly turns = new Turns(this.transport);
  readonly memory = new Memory(this.transport);
  readonly records = new Records(this.transport);
  readonly usage = new Usage(this.transport);

  constructor(options: StemmaClientOptions = {}) {
    super(new Transport(options));
  }

  /** Searches messages, and with `owners` entries, which come with the first page. Of each the best come first. */
  search(
    query: string,
    filters?: Omit<Body<"POST /v1/search">, "query">,
    init?: ReadInit,
  ): Pages<Hit, { entries: FoundEntry[] }> {
    return this.pages("POST /v1/search", [], init, { query, ...filters });
  }

  /** Recalls what a user's memory holds about a text, cut to what fits. */
  recall(
    query: string,
    about?: Omit<Body<"POST /v1/recall">, "query">,
    init?: ReadInit,
  ): Promise<Answer<"POST /v1/recall">> {
    return this.call("POST /v1/recall", [], init, { query, ...about });
  }

  /** Hears which sessions change, without an end. It goes on by itself after a broken connection; a change may come twice. */
  changes(query: ChangesQuery = {}, init?: ReadInit): AsyncGenerator<Change> {
    return changesOf(this.transport, query, init);
  }

  /** Makes several writes together, all or none. Its messages are of one session; its memory of users is one user's. Errors: those of each write. */
  batch(operations: readonly Operation[], init?: WriteInit): Promise<Answer<"POST /v1/batch">> {
    return this.call("POST /v1/batch", [], init, { operations: operations as Operation[] });
  }

  /** Makes a token for a user, with a key whose access is `mint` or `admin`. */
  createToken(token: NewToken, init?: WriteInit): Promise<Token> {
    return this.call("POST /v1/tokens", [], init, token);
  }

  /** Erases all sessions, blocks and entries that are kept for a user. */
  eraseUser(user: string, init?: WriteInit): Promise<ErasureReceipt> {
    return this.call("DELETE /v1/users/{user}", [user], init);
  }

  /** Reads what the server holds requests to. */
  limits(init?: ReadInit): Promise<Answer<"GET /v1/limits">> {
    return this.call("GET /v1/limits", [], init);
  }

  /** Reads how far the quota of the key or token is used up; with the id of another key its, for administrators. */
  quota(key?: string, init?: ReadInit): Pages<QuotaUse> {
    return this.pages("GET /v1/quota", [], init, { key });
  }

  /** The tag of the version that was read, for `ifMatch`; undefined for an answer without one. */
  tagOf(answer: object): string | undefined {
    return this.transport.tagOf(answer);
  }
}
