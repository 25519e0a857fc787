import { randomUUID } from "node:crypto";
import pg from "pg";
import { afterAll, beforeAll, describe } from "vitest";
import { ENGINE, type Engine, reasonToSkip, type Server, startServer } from "./engines.js";
import { sharedServer } from "./shared-server.js";

/** A server that is there while the tests of a block run. */
export interface RunningServer {
  /** An empty database for this block. */
  readonly url: string;
  urlFor(role: string, database?: string): string;
  /** A new database, and its URL. */
  createDatabase(): Promise<string>;
  /** Runs SQL as the superuser. */
  query(url: string, sql: string): Promise<Record<string, unknown>[]>;
}

/** One that no other block uses: it may crash, and its roles are the block's own. */
export interface OwnServer extends RunningServer {
  /** See `Server.crash`. */
  crash(): Promise<void>;
}

/** Registers tests that need a server; where there is none they are skipped by name, but in CI they fail. */
export function describeServer(
  title: string,
  body: (server: RunningServer) => Promise<void> | void,
  engine: Engine = ENGINE,
): void {
  describeEngine(title, engine, () => {
    let urlFor: Server["urlFor"];
    beforeAll(async () => {
      ({ urlFor } = await sharedServer(engine));
    });
    return body(runningServer((role, database) => urlFor(role, database)));
  });
}

/** The same on a server of its own. */
export function describeOwnServer(title: string, body: (server: OwnServer) => void, engine: Engine = ENGINE): void {
  describeEngine(title, engine, () => {
    let server: Server;
    beforeAll(async () => {
      server = await startServer(engine);
    });
    afterAll(() => server?.stop());
    const running = runningServer((role, database) => server.urlFor(role, database));
    body(Object.assign(running, { crash: () => server.crash() }));
  });
}

function describeEngine(title: string, engine: Engine, body: () => Promise<void> | void): void {
  const reason = reasonToSkip(engine);
  describe.skipIf(reason !== null)(reason === null ? title : `${title} (${reason})`, body);
}

function runningServer(urlFor: Server["urlFor"]): RunningServer {
  let url: string;
  const query = async (where: string, sql: string) => {
    const client = new pg.Client(where);
    await client.connect();
    try {
      return (await client.query(sql)).rows ?? [];
    } finally {
      await client.end();
    }
  };
  const createDatabase = async () => {
    // Files of several processes share the server, and the numbers of processes come again.
    const name = `db_${randomUUID().replaceAll("-", "")}`;
    await query(urlFor("postgres"), `CREATE DATABASE ${name}`);
    return urlFor("postgres", name);
  };
  beforeAll(async () => {
    url = await createDatabase();
  });
  return {
    get url() {
      return url;
    },
    urlFor,
    query,
    createDatabase,
  };
}
