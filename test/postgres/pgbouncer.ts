import { spawn } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe } from "vitest";
import { answers, ENGINE, freePort, ordinaryUser } from "./engines.js";
import { describeServer, type RunningServer } from "./server.js";

/** How many connections to the server all clients share. */
export const SERVER_CONNECTIONS = 3;

const program = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"].find((path) => existsSync(path));

/** Why tests behind a pooler do not run; null when they do, as they must in CI. */
export const reason = program !== undefined || process.env.CI ? null : "pgbouncer is not installed";

export interface Pooler {
  readonly server: RunningServer;
  /** The URL of the server's database, through the pooler. */
  readonly url: string;
  /** Rows of the pooler's console, such as those of `SHOW SERVERS`. */
  show(command: string): Promise<Record<string, unknown>[]>;
}

/** Registers tests that go through a PgBouncer in transaction mode, in front of an empty database. */
export function describePooler(title: string, body: (pooler: Pooler) => void): void {
  describe.skipIf(reason !== null)(reason === null ? title : `${title} (${reason})`, () => {
    describeServer(ENGINE.name, (server) => {
      let pooler: RunningPooler;
      beforeAll(async () => {
        pooler = await startPooler(server.url);
      });
      afterAll(() => pooler?.stop());
      body({
        server,
        get url() {
          return pooler.urlFor(new URL(server.url).pathname.slice(1));
        },
        show: (command) => server.query(pooler.urlFor("pgbouncer"), `SHOW ${command}`),
      });
    });
  });
}

export interface RunningPooler {
  urlFor(database: string): string;
  stop(): Promise<void>;
}

/** Starts one in front of the server that a URL names. */
export async function startPooler(url: string): Promise<RunningPooler> {
  if (program === undefined) throw new Error("pgbouncer is not installed.");
  const owner = process.getuid?.() === 0 ? ordinaryUser() : null;
  const folder = mkdtempSync(join(tmpdir(), "stemma-pgbouncer-"));
  const { hostname, port: serverPort } = new URL(url);
  const port = await freePort();
  const settings = {
    listen_addr: "127.0.0.1",
    listen_port: port,
    unix_socket_dir: "",
    auth_type: "any",
    admin_users: "postgres",
    pool_mode: "transaction",
    default_pool_size: SERVER_CONNECTIONS,
    max_client_conn: 200,
    logfile: join(folder, "log"),
  };
  writeFileSync(
    join(folder, "pgbouncer.ini"),
    `[databases]\n* = host=${hostname} port=${serverPort} user=postgres\n[pgbouncer]\n${Object.entries(settings)
      .map(([name, value]) => `${name} = ${value}\n`)
      .join("")}`,
  );
  if (owner !== null) chownSync(folder, owner.uid, owner.gid);
  const output = openSync(join(folder, "output"), "a");
  const pooler = spawn(program, [join(folder, "pgbouncer.ini")], {
    cwd: folder,
    stdio: ["ignore", output, output],
    ...owner,
  });
  const ended = new Promise<void>((resolve) => pooler.once("exit", () => resolve()));
  const urlFor = (database: string) => `postgres://postgres@127.0.0.1:${port}/${database}`;
  while (!(await answers(urlFor("pgbouncer")))) {
    if (pooler.exitCode !== null)
      throw new Error(`pgbouncer did not start: ${readFileSync(join(folder, "output"), "utf8")}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return {
    urlFor,
    stop: async () => {
      pooler.kill("SIGTERM");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
