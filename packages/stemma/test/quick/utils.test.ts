import type { UIMessage } from "ai";
import { describe, expect, expectTypeOf, it } from "vitest";
import * as helpers from "../../src/utils/compaction-helpers.js";
import * as utils from "../../src/utils.js";

describe("stemma/utils", () => {
  it("exports these names and no others", () => {
    expect(Object.keys(utils).sort()).toEqual([
      "CHARS_PER_TOKEN",
      "COMPACTION_PREFIX",
      "TOKENS_PER_MESSAGE",
      "WORDS_TOKEN_MULTIPLIER",
      "alignBoundaryBackward",
      "alignBoundaryForward",
      "buildSummaryPrompt",
      "computeSummaryBudget",
      "createCompactFunction",
      "enforceRowSizeLimit",
      "estimateMessageTokens",
      "estimateStringTokens",
      "findTailCutByTokens",
      "findTailStart",
      "isCompactionMessage",
      "sanitizeToolPairs",
      "truncateOlderMessages",
    ]);
    expect(Object.keys(helpers).every((name) => name in utils)).toBe(true);
    expect(helpers.createCompactFunction).toBe(utils.createCompactFunction);
  });

  it("estimates a list of messages", () => {
    const messages = [{ id: "a", role: "user", parts: [{ type: "text", text: "hello world" }] }];
    expect(utils.estimateMessageTokens([...messages, ...messages])).toBe(14);
    expect(utils.estimateMessageTokens([])).toBe(0);
    expect([utils.CHARS_PER_TOKEN, utils.WORDS_TOKEN_MULTIPLIER, utils.TOKENS_PER_MESSAGE]).toEqual([4, 1.3, 4]);
  });

  it("tells a summary from a message", () => {
    expect(utils.isCompactionMessage({ id: `${utils.COMPACTION_PREFIX}1` })).toBe(true);
    expect(utils.isCompactionMessage({ id: "m1" })).toBe(false);
  });

  it("takes the documents' options as they are written there", () => {
    const generateText = async (_: { prompt: string }) => ({ text: "S" });
    const estimateWithYourTokenizer = (input: { messages: unknown[] }) => input.messages.length;
    const compact = helpers.createCompactFunction({
      summarize: (prompt) => generateText({ prompt }).then((r) => r.text),
      protectHead: 3,
      tailTokenBudget: 20000,
      minTailMessages: 2,
      tokenCounter: async (messages) => estimateWithYourTokenizer({ messages }),
    });
    expectTypeOf(compact).toEqualTypeOf<helpers.CompactFunction>();
    expectTypeOf<UIMessage[]>().toExtend<Parameters<typeof compact>[0]>();
    expectTypeOf(utils.truncateOlderMessages([] as UIMessage[])).toEqualTypeOf<UIMessage[]>();
  });
});
