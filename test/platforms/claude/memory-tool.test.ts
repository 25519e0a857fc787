import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { memoryTool } from "../../../packages/adapters/src/claude/memory/memory-tool.js";
import type { MemoryCommand } from "../../../packages/adapters/src/claude/memory/paths.js";
import { Session } from "../../../packages/stemma/src/session.js";
import { memory } from "../../../packages/store/src/memory.js";
import { answerOf, commands, localTool, normal } from "../../claude/memory-commands.js";

const COMMANDS = Number(process.env.STEMMA_MEMORY_COMMANDS ?? 2000);
/** Commands that one pair of memories is given. */
const RUN = 250;

describe("the memory tool answers as the one of Anthropic's SDK", () => {
  it.each([
    ["the same commands each time", 1],
    ["other commands each time", Date.now() % 2 ** 31],
  ])("to %s (seed %i)", { timeout: 3_600_000 }, async (_, seed) => {
    const all = fc.sample(commands, { numRuns: COMMANDS / 2, seed });
    for (let start = 0; start < all.length; start += RUN) await expectSame(all.slice(start, start + RUN), seed);
  });
});

async function expectSame(given: readonly MemoryCommand[], seed: number): Promise<void> {
  const local = await localTool();
  const store = memory();
  const ours = memoryTool(Session.create(store).forSession("main"));
  try {
    for (const [index, command] of given.entries()) {
      const told = () => given.slice(0, index + 1).map((each) => JSON.stringify(each));
      const answer = normal(await answerOf(() => ours.execute(command)));
      const expected = await local.run(command);
      if (answer !== expected) expect(answer, `seed ${seed}\n${told().join("\n")}`).toBe(expected);
    }
  } finally {
    local.remove();
    await store.close();
  }
}
