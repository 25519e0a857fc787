import pg from "pg";
import { remote } from "../../packages/client/src/remote/remote.js";
import { postgres } from "../../packages/postgres/src/postgres.js";
import { withEverything } from "../../packages/server/test/quick/with-everything.js";
import type { Store } from "../../packages/store/src/index.js";
import type { Crashing } from "./crash-rounds.js";
import { tellingPool } from "./crashing-stores.js";
import { type Fetch, serverFor } from "./remote-target.js";

/**
 * A server that goes on while the database ends the connection of a statement: by `pg_terminate_backend` before the statement is sent, or
 * after it was done, so that its answer is lost.
 */
export class TerminatedServer implements Crashing {
  hasCrashed = false;
  #left = -1;
  readonly #end: () => void;
  readonly fetch: Fetch;
  readonly store: Store;

  constructor(url: string, schema: string, when: "before" | "after") {
    const { pool, end } = tellingPool(url, async (client, run) => {
      const isChosen = this.#left === 0;
      if (this.#left >= 0) this.#left -= 1;
      if (!isChosen) return run();
      this.hasCrashed = true;
      if (when === "before") {
        await terminate(url, client.processID);
        return run();
      }
      await run();
      client.connection.stream.destroy();
      throw new Error("Connection terminated unexpectedly");
    });
    this.#end = end;
    this.fetch = serverFor(postgres(pool, { schema }), { sessions: withEverything });
    this.store = remote({ baseUrl: "http://memory.test", fetch: this.fetch });
  }

  planCrash(statements: number): void {
    this.#left = statements;
  }

  async close(): Promise<void> {
    await this.store.close();
    this.#end();
  }
}

async function terminate(url: string, pid: number): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query("SELECT pg_terminate_backend($1, 5000)", [pid]);
  await client.end();
}
