import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findSafeCuts } from "../../../src/compaction/boundary.js";
import { type CompactContext, type CompactOptions, createCompactFunction } from "../../../src/compaction/compact.js";
import { summaryMessage } from "../../../src/messages/compactions.js";
import type { SessionMessage, SessionMessagePart } from "../../../src/messages/message.js";
import { estimateMessageTokens } from "../../../src/messages/tokens.js";

const say = (id: string, text = `message ${id}`): SessionMessage => ({
  id,
  role: "user",
  parts: [{ type: "text", text }],
});
const chat = (count: number, from = 1) => Array.from({ length: count }, (_, index) => say(`m${from + index}`));
const holding = (id: string, part: SessionMessagePart): SessionMessage => ({ id, role: "assistant", parts: [part] });

/** A compaction function over a summariser that keeps what it was asked. */
function compactor(options: Partial<CompactOptions> = {}) {
  const prompts: string[] = [];
  const summarize = async (prompt: string) => {
    prompts.push(prompt);
    return "SUMMARY";
  };
  return { compact: createCompactFunction({ summarize, protectHead: 1, tailTokenBudget: 0, ...options }), prompts };
}

describe("createCompactFunction", () => {
  it("summarises what lies between head and tail", async () => {
    const { compact, prompts } = compactor();
    const result = await compact(chat(8));
    expect(result).toEqual({ fromMessageId: "m2", toMessageId: "m6", summary: "SUMMARY" });
    expect(prompts[0]).toContain("message m2");
    expect(prompts[0]).toContain("message m6");
    expect(prompts[0]).not.toMatch(/message m[178]/);
  });

  it("protects three messages, 20,000 tokens and two messages by default", async () => {
    const compact = createCompactFunction({ summarize: () => "S" });
    expect(await compact(chat(50))).toBeNull();
    const long = chat(50).map(({ id }) => say(id, "x".repeat(4 * 996)));
    expect(await compact(long)).toMatchObject({ fromMessageId: "m4", toMessageId: "m30" });
    const huge = chat(6).map(({ id }) => say(id, "x".repeat(400_000)));
    expect(await compact(huge)).toMatchObject({ fromMessageId: "m4", toMessageId: "m4" });
  });

  it("gives null when there is nothing to compact, without asking the model", async () => {
    const { compact, prompts } = compactor();
    for (const count of [0, 1, 2, 3]) expect(await compact(chat(count))).toBeNull();
    expect(prompts).toEqual([]);
  });

  it("gives null for an empty answer, and trims another", async () => {
    expect(await compactor({ summarize: () => " \n\t" }).compact(chat(8))).toBeNull();
    expect(await compactor({ summarize: () => "\nS \n" }).compact(chat(8))).toMatchObject({ summary: "S" });
  });

  it("passes on what the summariser throws", async () => {
    const failure = new RangeError("rate limit");
    const { compact } = compactor({ summarize: () => Promise.reject(failure) });
    await expect(compact(chat(8))).rejects.toBe(failure);
  });

  it("moves its boundaries out of tool pairs: the head grows, the tail grows", async () => {
    const messages = chat(10);
    messages[0] = holding("m1", { type: "tool-call", toolCallId: "a", toolName: "x", input: {} });
    messages[1] = holding("m2", { type: "tool-result", toolCallId: "a", toolName: "x", output: 1 });
    messages[6] = holding("m7", { type: "tool-call", toolCallId: "b", toolName: "x", input: {} });
    messages[8] = holding("m9", { type: "tool-result", toolCallId: "b", toolName: "x", output: 1 });
    expect(await compactor().compact(messages)).toMatchObject({ fromMessageId: "m3", toMessageId: "m6" });
  });

  it("compacts a long exchange with a tool whole where the tail's budget ends inside it", async () => {
    const messages = chat(10);
    messages[1] = holding("m2", { type: "tool-call", toolCallId: "a", toolName: "x", input: {} });
    messages[6] = holding("m7", { type: "tool-result", toolCallId: "a", toolName: "x", output: 1 });
    const { compact } = compactor({ tailTokenBudget: 45 });
    expect(await compact(messages)).toMatchObject({ fromMessageId: "m2", toMessageId: "m7" });
    messages[8] = holding("m9", { type: "tool-result", toolCallId: "a", toolName: "x", output: 1 });
    expect(await compact(messages)).toBeNull();
  });

  it("never gives a range that parts a call from its result", async () => {
    const exchange = fc.record({ from: fc.nat(11), distance: fc.nat(5) });
    await fc.assert(
      fc.asyncProperty(
        fc.array(exchange, { maxLength: 6 }),
        fc.nat(4),
        fc.nat(60),
        async (exchanges, protectHead, tailTokenBudget) => {
          const messages = chat(12).map((message) => ({ ...message, parts: [...message.parts] }));
          exchanges.forEach(({ from, distance }, index) => {
            messages[from]?.parts.push({ type: "tool-call", toolCallId: `${index}`, toolName: "x", input: {} });
            messages[Math.min(from + distance, 11)]?.parts.push({
              type: "tool-result",
              toolCallId: `${index}`,
              output: 1,
            });
          });
          const result = await compactor({ protectHead, tailTokenBudget }).compact(messages);
          if (result === null) return;
          const from = messages.findIndex(({ id }) => id === result.fromMessageId);
          const to = messages.findIndex(({ id }) => id === result.toMessageId);
          const cuts = findSafeCuts(messages);
          expect([cuts[from], cuts[to + 1]]).toEqual([true, true]);
          expect(from).toBeGreaterThanOrEqual(protectHead);
          expect(from).toBeLessThanOrEqual(to);
          expect(to).toBeLessThan(messages.length - 2);
        },
      ),
    );
  });
});

describe("the tail under a threshold", () => {
  // 100 tokens each.
  const long = chat(400).map(({ id }) => say(id, "x".repeat(4 * 96)));
  const tailOf = async (options: Partial<CompactOptions>, context: CompactContext, messages = long) => {
    const { compact } = compactor({ protectHead: 3, tailTokenBudget: undefined, ...options });
    const last = (await compact(messages, context))?.toMessageId;
    return last === undefined ? null : messages.length - 1 - messages.findIndex(({ id }) => id === last);
  };

  it("has 20,000 tokens, or less, so that half of the threshold is free", async () => {
    expect(await tailOf({}, {})).toBe(200);
    expect(await tailOf({}, { tokenThreshold: 100_000 })).toBe(200);
    // 20,000 less 300 of the head and 4,000 for the summary.
    expect(await tailOf({}, { tokenThreshold: 40_000 })).toBe(157);
    expect(await tailOf({}, { tokenThreshold: 40_000, promptTokens: 5000 })).toBe(107);
    expect(await tailOf({ protectHead: 53 }, { tokenThreshold: 40_000, promptTokens: 5000 })).toBe(57);
    // A summary has a quarter of the threshold at most.
    expect(await tailOf({}, { tokenThreshold: 8000 })).toBe(17);
  });

  it("is never below the least number of messages, and as large as an option says", async () => {
    for (const threshold of [1, 400, 1000]) expect(await tailOf({}, { tokenThreshold: threshold })).toBe(2);
    expect(await tailOf({}, { tokenThreshold: 40_000, promptTokens: 50_000 })).toBe(2);
    expect(await tailOf({ minTailMessages: 5 }, { tokenThreshold: 400 })).toBe(5);
    expect(await tailOf({ tailTokenBudget: 30_000 }, { tokenThreshold: 40_000, promptTokens: 50_000 })).toBe(300);
  });

  it("is measured like the head: by the counter", async () => {
    const tokenCounter = () => 1000;
    // 40,000 less 3,000 of the head and 4,000 for the summary, but not more than 20,000.
    expect(await tailOf({ tokenCounter }, { tokenThreshold: 80_000 })).toBe(20);
    expect(await tailOf({ tokenCounter }, { tokenThreshold: 80_000, promptTokens: 20_000 })).toBe(13);
  });

  it("leaves room for the summary that is asked for", async () => {
    const { compact, prompts } = compactor({ tailTokenBudget: undefined });
    await compact(long, { tokenThreshold: 2000 });
    await compact(long, { tokenThreshold: 40_000 });
    expect(prompts.map((prompt) => /about (\d+) tokens/.exec(prompt)?.[1])).toEqual(["500", "4000"]);
  });
});

describe("summarize", () => {
  it("may be a model of the AI SDK, whose reasoning is no part of the summary", async () => {
    for (const specificationVersion of ["v2", "v3", "v4"]) {
      const asked: unknown[] = [];
      class Model {
        readonly specificationVersion = specificationVersion;
        readonly #content = [
          { type: "reasoning", text: "Hm." },
          { type: "text", text: "They talked " },
          { type: "file", mediaType: "text/plain", data: "" },
          { type: "text", text: "of pears." },
        ];
        async doGenerate(options: unknown) {
          asked.push(options);
          return { content: this.#content };
        }
      }
      const { compact } = compactor({ summarize: new Model() });
      expect((await compact(chat(8)))?.summary).toBe("They talked of pears.");
      const text = expect.stringContaining("message m2");
      expect(asked).toEqual([{ prompt: [{ role: "user", content: [{ type: "text", text }] }] }]);
    }
  });

  it("says that a model was asked and gave no answer", async () => {
    let told = 0;
    const context = {
      onEmptyAnswer: () => {
        told += 1;
      },
    };
    expect(
      await compactor({ summarize: { doGenerate: async () => ({ content: [] }) } }).compact(chat(8), context),
    ).toBeNull();
    expect(await compactor({ summarize: () => "" }).compact(chat(8), context)).toBeNull();
    expect(await compactor().compact(chat(3), context)).toBeNull();
    expect(told).toBe(2);
  });
});

describe("a summary in the history", () => {
  const old = summaryMessage({ id: "one", summary: "OLD SUMMARY" });

  it("is brought up to date: the new range starts with it", async () => {
    const { compact, prompts } = compactor({ protectHead: 3 });
    const messages = [say("m1"), old, ...chat(6, 10)];
    expect(await compact(messages)).toEqual({
      fromMessageId: "compaction_one",
      toMessageId: "m13",
      summary: "SUMMARY",
    });
    expect(prompts[0]).toContain("<<< previous summary >>>\nOLD SUMMARY\n<<< end of previous summary >>>");
    expect(prompts[0]?.split("OLD SUMMARY")).toHaveLength(2);
    expect(prompts[0]).not.toContain("message m1\n");
  });

  it("is never summarised by itself", async () => {
    const { compact, prompts } = compactor();
    expect(await compact([say("m1"), old, say("m10"), say("m11")])).toBeNull();
    expect(await compact([old, summaryMessage({ id: "two", summary: "B" }), say("m10"), say("m11")])).toBeNull();
    expect(prompts).toEqual([]);
  });

  it("is merged with others, and with what lies between them", async () => {
    const { compact, prompts } = compactor();
    const second = summaryMessage({ id: "two", summary: "SECOND SUMMARY" });
    const messages = [say("m1"), old, say("m5"), second, ...chat(4, 10)];
    expect(await compact(messages)).toMatchObject({ fromMessageId: "compaction_one", toMessageId: "m11" });
    expect(prompts[0]).toContain("OLD SUMMARY\n\nSECOND SUMMARY");
    expect(prompts[0]).toContain("message m5");
  });

  it("may be the last of the range", async () => {
    const { compact } = compactor();
    expect(await compact([say("m1"), say("m2"), old, say("m10"), say("m11")])).toMatchObject({
      fromMessageId: "m2",
      toMessageId: "compaction_one",
    });
  });
});

describe("the token counter", () => {
  const counted = async (options: Partial<CompactOptions>, fromSession?: () => number) => {
    const { compact } = compactor({ tailTokenBudget: 30, ...options });
    const result = await compact(chat(10), fromSession === undefined ? undefined : { tokenCounter: fromSession });
    return result?.toMessageId;
  };

  it("is the built-in estimate by default", async () => {
    expect(estimateMessageTokens(say("m9"))).toBe(7);
    expect(await counted({})).toBe("m6");
  });

  it("is the session's when the function has none of its own", async () => {
    expect(await counted({}, () => 5)).toBe("m4");
    expect(await counted({ tokenCounter: () => 10 }, () => 5)).toBe("m7");
    expect(await counted({ tokenCounter: async () => 10 })).toBe("m7");
  });

  it("leaves the least tail when it counts whole prompts", async () => {
    expect(await counted({}, () => 50_000)).toBe("m8");
  });

  it("of a session is given one message at a time, as a request without prompt and blocks", async () => {
    const inputs: unknown[] = [];
    const tokenCounter = (input: unknown) => {
      inputs.push(input);
      return 5;
    };
    const messages = chat(10);
    await compactor({ tailTokenBudget: 30 }).compact(messages, { tokenCounter });
    expect(inputs).toEqual(
      messages
        .slice(3)
        .reverse()
        .map((message) => ({ messages: [message], systemPrompt: "", contextBlocks: [] })),
    );
  });
});

describe("options", () => {
  it("are checked when the function is made", () => {
    const summarize = () => "S";
    const wrong: unknown[] = [
      {},
      { summarize: "S" },
      { summarize: null },
      { summarize: { doStream: summarize } },
      { summarize, protectHead: -1 },
      { summarize, protectHead: 1.5 },
      { summarize, minTailMessages: Number.NaN },
      { summarize, tailTokenBudget: -1 },
      { summarize, tailTokenBudget: "20000" },
      { summarize, tokenCounter: 5 },
    ];
    for (const options of wrong) {
      expect(() => createCompactFunction(options as CompactOptions)).toThrow(
        expect.objectContaining({ code: "INVALID_ARGUMENT" }),
      );
    }
  });

  it("are checked when the function runs, where they are functions", async () => {
    const answer = { summarize: () => 5 as unknown as string };
    await expect(compactor(answer).compact(chat(8))).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  it("give way to the estimate where a counter gives no number", async () => {
    const counter = { tokenCounter: () => "5" as unknown as number };
    expect(await compactor(counter).compact(chat(8))).toEqual(await compactor({}).compact(chat(8)));
  });
});
