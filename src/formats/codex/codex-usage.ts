import { isJsonObject, type JsonObject } from "../../model/json-object.js";
import type { SessionBuilder } from "../session-builder.js";
import { tokensOf } from "../session-file.js";

/** Counts what turns used: each event tells the sum so far and the last request, some of them twice. */
export class UsageOfTurns {
  #total = "";

  constructor(private readonly builder: SessionBuilder) {}

  count(info: unknown, time: string | undefined): void {
    if (!isJsonObject(info) || !isJsonObject(info.last_token_usage)) return;
    const total = JSON.stringify(info.total_token_usage ?? null);
    if (total === this.#total) return;
    this.#total = total;
    const { input_tokens, output_tokens }: JsonObject = info.last_token_usage;
    const used = { inputTokens: tokensOf(input_tokens), outputTokens: tokensOf(output_tokens), cost: 0 };
    this.builder.usage.add(time?.slice(0, 10), this.builder.model ?? "", used, 1);
  }
}
