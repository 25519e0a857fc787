import type { LanguageModelUsage } from "ai";
import type { AgentUsage } from "../../storage/contract.js";
import type { ExtendedUsageInfo, ModelPrices } from "../types.js";

export const NO_USAGE: Readonly<ExtendedUsageInfo> = { input_tokens: 0, output_tokens: 0 };

const OPTIONAL = ["cache_creation_input_tokens", "cache_read_input_tokens", "total_cost_usd"] as const;

/** The sum. A field that neither has stays absent. */
export function addUsage(a: ExtendedUsageInfo, b: ExtendedUsageInfo): ExtendedUsageInfo {
  const sum: ExtendedUsageInfo = {
    input_tokens: a.input_tokens + b.input_tokens,
    output_tokens: a.output_tokens + b.output_tokens,
  };
  for (const field of OPTIONAL) {
    if (a[field] !== undefined || b[field] !== undefined) sum[field] = (a[field] ?? 0) + (b[field] ?? 0);
  }
  return sum;
}

/** All input tokens, cached ones included. */
export function totalInput(usage: ExtendedUsageInfo): number {
  return usage.input_tokens + (usage.cache_creation_input_tokens ?? 0) + (usage.cache_read_input_tokens ?? 0);
}

/** The same, as an observer is told of it. */
export function agentUsage(usage: ExtendedUsageInfo): AgentUsage {
  return { inputTokens: totalInput(usage), outputTokens: usage.output_tokens };
}

/** What the AI SDK reports of one step, priced. What a provider does not report, or reports as no count, counts 0. */
export function usageOf(usage: LanguageModelUsage, prices: ModelPrices | undefined): ExtendedUsageInfo {
  const { inputTokens, outputTokens, inputTokenDetails } = usage as Partial<LanguageModelUsage>;
  const read = count(inputTokenDetails?.cacheReadTokens);
  const write = count(inputTokenDetails?.cacheWriteTokens);
  const result: ExtendedUsageInfo = {
    input_tokens: Math.max(0, count(inputTokens) - read - write),
    output_tokens: count(outputTokens),
  };
  if (write) result.cache_creation_input_tokens = write;
  if (read) result.cache_read_input_tokens = read;
  if (prices) result.total_cost_usd = costOf(result, prices);
  return result;
}

function costOf(usage: ExtendedUsageInfo, prices: ModelPrices): number {
  const { input, output, cacheRead = input, cacheWrite = input } = prices;
  const perMillion =
    usage.input_tokens * input +
    usage.output_tokens * output +
    (usage.cache_read_input_tokens ?? 0) * cacheRead +
    (usage.cache_creation_input_tokens ?? 0) * cacheWrite;
  return amount(perMillion / 1_000_000);
}

/** Tokens of one step beyond which a report is no count: their sums stay exact. */
const MAX_TOKENS = 1e12;

function count(reported: unknown): number {
  const isCount = typeof reported === "number" && Number.isInteger(reported) && reported > 0 && reported <= MAX_TOKENS;
  return isCount ? reported : 0;
}

function amount(dollars: number): number {
  return Number.isFinite(dollars) ? dollars : 0;
}
