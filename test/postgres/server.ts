import pg from "pg";
import { afterAll, beforeAll, describe } from "vitest";
import { ENGINE, type Engine, reasonToSkip, type Server, startServer } from "./engines.js";

/** A server that is there while the tests of a block run. */
export interface RunningServer {
  readonly url: string;
  urlFor(role: string, database?: string): string;
  /** See `Server.crash`. */
  crash(): Promise<void>;
  /** A new database, and its URL. */
  createDatabase(): Promise<string>;
  /** Runs SQL as the superuser. */
  query(url: string, sql: string): Promise<Record<string, unknown>[]>;
}

/** Registers tests that need a server; where there is none they are skipped by name, but in CI they fail. */
export function describeServer(title: string, body: (server: RunningServer) => void, engine: Engine = ENGINE): void {
  const reason = reasonToSkip(engine);
  describe.skipIf(reason !== null)(reason === null ? title : `${title} (${reason})`, () => {
    let server: Server;
    let databases = 0;
    beforeAll(async () => {
      server = await startServer(engine);
    }, 60_000);
    afterAll(() => server?.stop(), 60_000);
    const query = async (url: string, sql: string) => {
      const client = new pg.Client(url);
      await client.connect();
      try {
        return (await client.query(sql)).rows ?? [];
      } finally {
        await client.end();
      }
    };
    body({
      get url() {
        return server.url;
      },
      urlFor: (role, database) => server.urlFor(role, database),
      crash: () => server.crash(),
      query,
      createDatabase: async () => {
        databases += 1;
        const name = `db${databases}`;
        await query(server.url, `CREATE DATABASE ${name}`);
        return server.urlFor("postgres", name);
      },
    });
  });
}
