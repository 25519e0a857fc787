import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createCompactFunction } from "../../../packages/model/src/compaction/compact.js";
import { estimateMessageTokens } from "../../../packages/model/src/messages/tokens.js";
import type { TokenCounter } from "../../../packages/session/src/session/compaction/token-count.js";
import { Session } from "../../../packages/session/src/session/session.js";
import { memory } from "../../../packages/store/src/memory.js";

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
      console.log(`${name}: ${calls} calls for ${scenario.messages} messages`);
      expect(calls).toBeGreaterThan(0);
      expect(calls).toBeLessThanOrEqual(Math.min(most, 10));
      // What leaves less than half of the threshold free is told, once and with its numbers.
      const isRoomy = scenario === SCENARIOS["all defaults and a threshold of 20,000"];
      expect(told.map(({ code }) => code)).toEqual(isRoomy ? [] : ["COMPACTION_NO_ROOM"]);
      const numbers = { threshold: scenario.threshold, prompt: expect.any(Number), head: expect.any(Number) };
      if (!isRoomy)
        expect(told[0]?.details).toMatchObject({ ...numbers, summary: expect.any(Number), tail: expect.any(Number) });
    });
  }

  it("does the same whatever the sizes, and reads no message twice that a summary holds", async () => {
    const counters: Record<string, TokenCounter | undefined> = {
      estimate: undefined,
      characters: ({ messages, systemPrompt }) => (JSON.stringify(messages).length + systemPrompt.length) / 3,
      tools: withTools,
      total: () => 30_000,
    };
    const scenario = fc.record({
      threshold: fc.integer({ min: 200, max: 40_000 }),
      prompt: fc.integer({ min: 0, max: 60_000 }),
      counter: fc.constantFrom(...Object.keys(counters)),
      summary: fc.integer({ min: 0, max: 3000 }),
      sizes: fc.array(fc.integer({ min: 1, max: 2000 }), { minLength: 20, maxLength: 60 }),
      huge: fc.nat(200),
      tail: fc.option(fc.double({ min: 0, max: 0.99, noNaN: true }), { nil: undefined }),
      protectHead: fc.nat(4),
      minTailMessages: fc.nat(4),
      isReopened: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(scenario, async ({ threshold, sizes, huge, counter, ...given }) => {
        const store = memory();
        const tokenCounter = counters[counter];
        let calls = 0;
        let tokens = 0;
        let read: string[] = [];
        const summarised = new Set<string>();
        const twice: string[] = [];
        const summarize = (prompt: string) => {
          calls += 1;
          read = [...prompt.matchAll(/#(\d+)#/g)].map((match) => match[1] as string);
          twice.push(...read.filter((id) => summarised.has(id)));
          return text(given.summary);
        };
        const open = () => {
          const { tail, protectHead, minTailMessages } = given;
          const tailTokenBudget = tail === undefined ? undefined : Math.floor(tail * threshold);
          const session = Session.create(store)
            .forSession("s")
            .withContext("soul", { provider: { get: async () => text(given.prompt) } })
            .onCompaction(createCompactFunction({ summarize, protectHead, minTailMessages, tailTokenBudget }))
            .compactAfter(threshold, { tokenCounter })
            .onCompactionError(() => {});
          session.subscribe((event) => {
            if (event.type === "messages" && event.change === "compaction") for (const id of read) summarised.add(id);
          });
          return session;
        };
        let session = open();
        for (const [index, size] of sizes.entries()) {
          if (given.isReopened) session = open();
          const said = `#${index}# ${text(index === huge ? 120_000 : size)}`;
          const message = { id: `m${index}`, role: "user", parts: [{ type: "text", text: said }] };
          const input = { messages: [message], systemPrompt: "", contextBlocks: [] };
          const counted = counter === "characters" ? await tokenCounter?.(input) : 0;
          tokens += Math.max(estimateMessageTokens(message), counted ?? 0);
          await session.appendMessage(message);
          expect(calls).toBeLessThanOrEqual(Math.ceil(tokens / (threshold / 2)));
        }
        expect(twice).toEqual([]);
        await store.close();
      }),
      { numRuns: 60 },
    );
  }, 120_000);
});
