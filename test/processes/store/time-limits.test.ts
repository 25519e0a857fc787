import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import { bundle } from "../../runner/bundle.js";

const run = promisify(execFile);
let program = "";

beforeAll(async () => {
  program = join(await bundle("time-limits", ["test/store/waiter-process.ts"]), "waiter-process.mjs");
});

describe("a process in which nothing else goes on", () => {
  it.each([
    ["clearMessages(), whose provider gives no answer", "clear", []],
    ["compact(), whose function gives no answer", "compact", ["The compact function gave no answer"]],
    ["close(), whose learn function gives no answer", "close", ["The learn function gave no answer"]],
  ])("waits for %s, until the time is over", async (_, call, told) => {
    // Node ends a process with code 13 whose promise nothing can settle any more.
    const { stdout } = await run(process.execPath, [program, call]);
    expect(JSON.parse(stdout)).toEqual(told.map((text) => expect.stringContaining(text)));
  });

  it.each(["title", "learn"])("ends although a %s function that nobody waits for gives no answer", async (call) => {
    // Their limit is two minutes.
    const { stdout } = await run(process.execPath, [program, call], { timeout: 45_000 });
    expect(JSON.parse(stdout)).toEqual([]);
  });
});
