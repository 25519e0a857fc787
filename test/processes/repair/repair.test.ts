import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { lint, repair } from "../../../packages/stemma/src/ai-sdk.js";
import { histories } from "../../repair/histories.js";
import { modelOf, send, startStrictServers, tools } from "../../repair/send.js";

const PROVIDERS = [
  "anthropic",
  "openai",
  "chat",
  "google",
  "compatible",
  "mistral",
  "groq",
  "xai",
  "deepseek",
  "bedrock",
] as const;

startStrictServers();

describe("repair of any history", () => {
  it.each(PROVIDERS)(
    "is accepted by %s, lints clean and stays as it is",
    async (provider) => {
      const model = modelOf(provider);
      await fc.assert(
        fc.asyncProperty(histories, async (messages) => {
          const before = structuredClone(messages);
          const mended = repair(messages, model, { tools });
          expect(messages).toEqual(before);
          expect(lint(mended, model, { tools })).toEqual([]);
          expect(repair(mended, model, { tools })).toBe(mended);
          expect(lint(messages, model, { tools }).length === 0).toBe(mended === messages);
          expect(await send(mended, provider)).toBe("Fine");
        }),
        { numRuns: Number(process.env.STEMMA_REPAIRS ?? 200) },
      );
    },
    120_000,
  );
});
