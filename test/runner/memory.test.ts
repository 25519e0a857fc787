// A process that serves any number of sessions, one after the other, stays level.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { bundle } from "./bundle.js";

let program: string;
beforeAll(async () => {
  program = join(await bundle("memory", ["test/runner/memory-child.ts"]), "memory-child.mjs");
});

function run(...args: string[]): unknown {
  const { stdout, stderr } = spawnSync(process.execPath, ["--expose-gc", program, ...args], { encoding: "utf8" });
  if (stdout === "") throw new Error(stderr);
  return JSON.parse(stdout);
}

describe("the memory of a process", () => {
  for (const [what, count, perSession] of [
    ["manager", 8000, 300],
    ["runner", 160, 8000],
    ["a store on a storage", 2400, 1000],
  ] as const) {
    it(`stays level while it serves ${count} sessions (${what})`, () => {
      const [first = 0, , , last = 0] = run(what, String(count)) as number[];
      expect((last - first) / (count * 0.75)).toBeLessThan(perSession);
    }, 120_000);
  }

  it("holds a manager's session that is referred to, subscribed to or busy, and no other", () => {
    expect(run("identity")).toEqual({
      during: ["subscribed", "busy", "held", "tools"],
      // The message, and what it makes of the size.
      listening: 2,
      after: ["held", "tools"],
      held: "held",
      tools: ["set_context"],
    });
  });
});
