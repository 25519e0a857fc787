// One of several processes that save the same session: the one that is there, or a new one. With a number it kills itself before the system call of that number.
import fs, { open } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { createInterface } from "node:readline";
import { FileSessionStorage } from "../../packages/stemma/src/agent.js";

const [directory = "", killAt = "0"] = process.argv.slice(2);
let left = Number.POSITIVE_INFINITY;

function intercept(target: object, names: readonly string[]): void {
  const calls = target as Record<string, (...args: unknown[]) => unknown>;
  for (const name of names) {
    const original = calls[name] as (...args: unknown[]) => unknown;
    calls[name] = function (this: unknown, ...args: unknown[]) {
      left -= 1;
      if (left <= 0) process.kill(process.pid, "SIGKILL");
      return original.apply(this, args);
    };
  }
}

if (killAt !== "0") {
  const handle = await open(process.execPath);
  intercept(Object.getPrototypeOf(handle) as object, ["writeFile", "readFile", "read", "sync", "stat", "close"]);
  await handle.close();
  intercept(fs, ["access", "mkdir", "open", "readdir", "rename", "rm"]);
  syncBuiltinESMExports();
}

const say = (word: string) => process.stdout.write(`${word}\n`);
const storage = new FileSessionStorage(directory);
let state = await storage.load("s");
say("ready");
for await (const line of createInterface({ input: process.stdin })) {
  if (line === "load") {
    state = await storage.load("s");
    say("loaded");
    continue;
  }
  if (line.startsWith("new ")) {
    const id = line.slice("new ".length);
    const found = await storage.load(id);
    const usage = { input_tokens: 0, output_tokens: 0 };
    state = found ?? { id, messages: [], usage, metadata: {}, createdAt: 1, updatedAt: 1 };
    say(found === undefined ? "nothing" : "found");
    continue;
  }
  if (killAt !== "0") left = Number(killAt);
  if (state === undefined) throw new TypeError("The session is not there.");
  state.metadata = { mark: line };
  await storage.save(state).then(
    () => say("saved"),
    (error: { code?: string }) => say(String(error.code)),
  );
  left = Number.POSITIVE_INFINITY;
}
