import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const run = promisify(execFile);
// Inside the project, where the program finds its packages.
const cache = join(import.meta.dirname, "../../node_modules/.cache");
mkdirSync(cache, { recursive: true });
const folder = mkdtempSync(join(cache, "stemma-time-limits-"));
const program = join(folder, "waiter.mjs");

beforeAll(async () => {
  await build({
    entryPoints: [join(import.meta.dirname, "waiter-process.ts")],
    outfile: program,
    bundle: true,
    platform: "node",
    format: "esm",
    packages: "external",
  });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

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
});
