import { remote } from "../../packages/client/src/remote/remote.js";
import type { Store } from "../../packages/store/src/index.js";
import type { Crashing } from "./crash-rounds.js";
import { answerOf, type Fetch } from "./remote-target.js";

/** Is told of each statement, before it is sent and once it was done. Both throw where the server is over. */
export interface Statements {
  readonly before: () => void;
  readonly after: () => void;
}

/** A server in this process. */
export interface Serving {
  readonly serve: Fetch;
  /** Ends its connections; idempotent. */
  readonly end: () => void;
}

/** Servers in this process. One ends as a process does that is killed: it makes no statement, be it to roll back. */
export class CrashingServers implements Crashing {
  hasCrashed = false;
  #at = -1;
  #seen = 0;
  #server: (Serving & { isOver: boolean }) | undefined;
  readonly store: Store;

  constructor(private readonly start: (statements: Statements) => Serving) {
    this.store = remote({ baseUrl: "http://memory.test", fetch: this.fetch });
  }

  planCrash(statements: number): void {
    this.#at = statements;
    this.#seen = 0;
  }

  async close(): Promise<void> {
    await this.store.close();
    this.#server?.end();
  }

  readonly fetch: Fetch = async (request) => {
    this.#server ??= this.#started();
    const server = this.#server;
    const response = await server.serve(request);
    const body = await response.arrayBuffer();
    if (server.isOver) {
      server.end();
      if (this.#server === server) this.#server = undefined;
      throw new TypeError("The server was killed.");
    }
    return answerOf(body, response);
  };

  #started(): Serving & { isOver: boolean } {
    const unlessOver = (note: () => boolean) => () => {
      if (!server.isOver && note() && !this.hasCrashed) {
        this.hasCrashed = true;
        server.isOver = true;
      }
      if (server.isOver) throw new RangeError("The server is over.");
    };
    const before = unlessOver(() => this.#at === 0);
    const after = unlessOver(() => {
      if (this.#at >= 0) this.#seen += 1;
      return this.#seen === this.#at;
    });
    const server = { ...this.start({ before, after }), isOver: false };
    return server;
  }
}
