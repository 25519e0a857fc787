// A process that serves any number of sessions, one after the other, stays level. `STEMMA_SOAK=1 npx vitest run processes/runner/memory` serves a million.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { bundle } from "../../runner/bundle.js";

let program: string;
beforeAll(async () => {
  program = join(await bundle("memory", ["test/runner/memory-child.ts"]), "memory-child.mjs");
});

const SOAKS = process.env.STEMMA_SOAK !== undefined;

/** What the heap may grow by: its noise, whatever the number of sessions. */
const MAX_GROWTH = 2e6;

function run(...args: string[]): unknown {
  const { stdout, stderr } = spawnSync(process.execPath, ["--expose-gc", program, ...args], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", SOAKS ? "inherit" : "pipe"],
  });
  if (stdout === "") throw new Error(stderr);
  return JSON.parse(stdout);
}

describe("the memory of a process", () => {
  for (const [what, few, many] of [
    ["manager", 10_000, 1_000_000],
    ["queue", 100_000, 1_000_000],
    ["runner on a store", 1_000, 100_000],
    ["runner", 200, 2_000],
    ["a store on a storage", 2_000, 100_000],
  ] as const) {
    const count = SOAKS ? many : few;
    it(`stays level while it serves ${count} sessions (${what})`, () => {
      const figures = run(what, String(count)) as number[];
      expect((figures.at(-1) ?? 0) - (figures[2] ?? 0)).toBeLessThan(MAX_GROWTH);
    }, 3_600_000);
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
