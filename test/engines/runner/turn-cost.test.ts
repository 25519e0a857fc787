import { expect, it } from "vitest";
import { readConversations } from "../../../bench/turns/conversation.mjs";
import { compareStrategies } from "../../../bench/turns/strategies.mjs";
import { Session } from "../../../packages/stemma/src/session.js";
import { createCompactFunction, estimateStringTokens } from "../../../packages/stemma/src/utils.js";
import { memory } from "../../../packages/store/src/memory.js";

it("prepareTurn leaves nothing untold, at the cost of never telling anything", async () => {
  const stemma = { Session, createCompactFunction, estimateStringTokens, openStore: memory };
  const rows = await compareStrategies(stemma, readConversations(), 60);
  for (const { strategy, cost, stale } of rows) {
    if (strategy === "never") expect(stale).toBeGreaterThan(30);
    else expect(stale).toBe(0);
    if (strategy === "always") expect(cost).toBeGreaterThan(1.2);
    else expect(cost).toBeLessThan(1.05);
  }
});
