// The servers that are measured, each a process of its own.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const path = (file) => fileURLToPath(new URL(file, import.meta.url));

/** A server whose handler does nothing. */
export const startEmpty = () => start([path("./empty.mjs")]);

/** A server that passes requests on to a database, and does nothing else. */
export const startBare = (db) => start([path("./bare.mjs"), db]);

/** `stemma serve` with its default settings, on a database; it is asked more often than they allow. */
export const startStemma = (db) =>
  start([
    path("../../packages/stemma/dist/cli/main.js"),
    "--db",
    db,
    "serve",
    "--port",
    "0",
    "--rate-limit",
    "100000000",
  ]);

/** Gives a server when it has said on a line where it listens. */
async function start(args) {
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((resolve) => child.once("close", resolve));
  const lines = createInterface({ input: child.stdout });
  const url = await new Promise((resolve, reject) => {
    ended.then((code) => reject(new Error(`${args[0]} ended with ${code}.`)));
    lines.on("line", (line) => {
      const { url } = JSON.parse(line);
      if (url !== undefined) resolve(url);
    });
  });
  return {
    url,
    pid: child.pid,
    stop: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
