import { describe, expect, it } from "vitest";
import { createCompactFunction } from "../../src/compaction/compact.js";
import { memory } from "../../src/memory.js";
import { estimateMessageTokens } from "../../src/model/tokens.js";
import { Session } from "../../src/session/session.js";
import type { TokenCounter } from "../../src/session/token-count.js";

interface Scenario {
  readonly threshold: number;
  readonly messages: number;
  /** Words of the prompt, and of the first message. */
  readonly prompt?: number;
  readonly first?: number;
  readonly tokenCounter?: TokenCounter;
}

const text = (tokens: number) => "word ".repeat((tokens * 4) / 5);

/** A long chat of messages of 500 tokens with summaries of 800: how often it asks for one, and what it tells of that. */
async function chat({ threshold, messages, prompt = 100, first = 500, tokenCounter }: Scenario) {
  let calls = 0;
  let tokens = 0;
  const told: { code: string; message: string; details: object }[] = [];
  const summarize = () => {
    calls += 1;
    return text(800);
  };
  const session = Session.create(memory())
    .forSession("s")
    .withContext("soul", { provider: { get: async () => text(prompt) } })
    .withCachedPrompt()
    .onCompaction(createCompactFunction({ summarize }))
    .compactAfter(threshold, tokenCounter && { tokenCounter })
    .onCompactionError((error) => {
      told.push(error as (typeof told)[number]);
    });
  await session.freezeSystemPrompt();
  for (let n = 1; n <= messages; n += 1) {
    const size = n === 1 ? first : 500;
    const message = { id: `${n}`, role: n % 2 ? "user" : "assistant", parts: [{ type: "text", text: text(size) }] };
    tokens += estimateMessageTokens(message);
    await session.appendMessage(message);
  }
  return { calls, told, most: Math.ceil(tokens / (threshold / 2)) };
}

/** Counts as a program does whose tools take 50,000 tokens of each request. */
const withTools: TokenCounter = ({ messages, systemPrompt }) =>
  50_000 + (JSON.stringify(messages).length + systemPrompt.length) / 4;

// Before: 141, 159, 77 and 115 calls.
const SCENARIOS: Record<string, Scenario> = {
  "all defaults and a threshold of 20,000": { threshold: 20_000, messages: 200 },
  "a prompt of 18,000 under a threshold of 40,000": { threshold: 40_000, messages: 200, prompt: 18_000 },
  "a protected first message of 120,000": { threshold: 40_000, messages: 200, first: 120_000 },
  "a counter that adds 50,000 for tools": { threshold: 40_000, messages: 120, tokenCounter: withTools },
};

describe("how often a long chat is summarised", () => {
  for (const [name, scenario] of Object.entries(SCENARIOS)) {
    it(`at most once for each half of the threshold of new text: ${name}`, async () => {
      const { calls, told, most } = await chat(scenario);
      console.log(
        `${name}: ${calls} calls for ${scenario.messages} messages (at most ${most})`,
        told.map((t) => t.message),
      );
      expect(calls).toBeGreaterThan(0);
      expect(calls).toBeLessThanOrEqual(Math.min(most, 10));
    });
  }
});
