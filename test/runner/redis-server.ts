import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createConnection, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface RedisServer {
  readonly url: string;
  readonly port: number;
  /** Kills the server with SIGKILL, and starts it again on what it had written. */
  crash(): Promise<void>;
  stop(): Promise<void>;
}

/** The server's program: `STEMMA_REDIS_SERVER`, else the one on the PATH; null when there is none. */
export function findRedis(): string | null {
  const program = process.env.STEMMA_REDIS_SERVER || "redis-server";
  return spawnSync(program, ["--version"]).status === 0 ? program : null;
}

/** Starts a server of its own, which writes every command to its disk before it answers. */
export async function startRedis(): Promise<RedisServer> {
  const directory = mkdtempSync(join(tmpdir(), "stemma-redis-"));
  const port = await freePort();
  const options = ["--port", String(port), "--bind", "127.0.0.1", "--dir", directory, "--save", ""];
  const durable = [...options, "--appendonly", "yes", "--appendfsync", "always"];
  const start = async () => {
    const started = spawn(findRedis() ?? "redis-server", durable, { stdio: "ignore" });
    await reachable(started, port);
    return started;
  };
  const end = (signal: NodeJS.Signals) =>
    new Promise((resolve) => {
      server.once("exit", resolve);
      server.kill(signal);
    });
  let server = await start();
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    async crash() {
      await end("SIGKILL");
      server = await start();
    },
    async stop() {
      await end("SIGTERM");
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

// A server that still reads its file takes connections already.
async function reachable(server: ChildProcess, port: number): Promise<void> {
  for (let attempt = 0; attempt < 400 && server.exitCode === null; attempt += 1) {
    const ready = await new Promise<boolean>((resolve) => {
      const socket = createConnection(port, "127.0.0.1", () => socket.write("PING\r\n"));
      socket.once("data", (answer) => {
        socket.destroy();
        resolve(String(answer).startsWith("+PONG"));
      });
      socket.once("error", () => resolve(false));
      socket.once("close", () => resolve(false));
    });
    if (ready) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new RangeError(`redis-server did not come up on port ${port}.`);
}
