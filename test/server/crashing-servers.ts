import { remote } from "../../packages/client/src/remote/remote.js";
import type { Store } from "../../packages/store/src/index.js";
import { sqlite } from "../../packages/store/src/sqlite.js";
import { openDatabase } from "../store/databases.js";
import { failingClient } from "../store/file-target.js";
import type { Crashing } from "./crash-rounds.js";
import { type Fetch, serverFor } from "./remote-target.js";

/** Servers in this process. One ends as a process does that is killed: it makes no statement, be it to roll back. */
export class CrashingServers implements Crashing {
  hasCrashed = false;
  #at = -1;
  #seen = 0;
  #server: Server | undefined;
  readonly store: Store;

  constructor(private readonly path: string) {
    const fetch: Fetch = (request) => this.#answer(request);
    this.store = remote({ baseUrl: "http://memory.test", fetch });
  }

  planCrash(statements: number): void {
    this.#at = statements;
    this.#seen = 0;
  }

  async close(): Promise<void> {
    await this.store.close();
    this.#server?.end();
  }

  async #answer(request: Request): Promise<Response> {
    this.#server ??= new Server(this.path, {
      before: () => this.#crashIf(this.#at === 0),
      after: () => {
        if (this.#at < 0) return;
        this.#seen += 1;
        this.#crashIf(this.#seen === this.#at);
      },
    });
    const server = this.#server;
    const response = await server.serve(request);
    const body = await response.arrayBuffer();
    if (server.isOver) {
      server.end();
      if (this.#server === server) this.#server = undefined;
      throw new TypeError("The server was killed.");
    }
    return new Response(body, response);
  }

  #crashIf(isPlace: boolean): void {
    if (!isPlace || this.hasCrashed) return;
    this.hasCrashed = true;
    if (this.#server !== undefined) this.#server.isOver = true;
  }
}

class Server {
  isOver = false;
  readonly serve: Fetch;
  readonly end: () => void;

  constructor(path: string, { before, after }: { readonly before: () => void; readonly after: () => void }) {
    const database = openDatabase(path);
    const unlessOver = (note: () => void) => () => {
      if (!this.isOver) note();
      if (this.isOver) throw new RangeError("The server is over.");
    };
    this.serve = serverFor(sqlite(failingClient(database, unlessOver(before), unlessOver(after))));
    this.end = () => void database.close();
  }
}
