import { isJsonObject, type JsonObject, nameOf, Recent } from "@stemma/model";
import { findTime } from "../../found.js";
import type { SessionBuilder } from "../../session-builder.js";
import { tokensOf, type Usage } from "../../stemma/session-file.js";

const ANSWERS = 1000;

/** Counts what answers used. Each line of an answer tells it anew, the last one rightly. */
export class UsageOfAnswers {
  readonly #told = new Recent<Usage>(ANSWERS);

  constructor(private readonly builder: SessionBuilder) {}

  /** Forgets the answers: no further line of them comes. */
  forget(): void {
    this.#told.clear();
  }

  count(answerId: string, line: JsonObject, { usage, model }: JsonObject): void {
    const name = nameOf(model);
    if (!isJsonObject(usage) || name === undefined || name === "<synthetic>") return;
    const before = this.#told.get(answerId);
    const { input_tokens, cache_creation_input_tokens, cache_read_input_tokens, output_tokens } = usage;
    const now: Usage = {
      inputTokens: tokensOf(input_tokens) + tokensOf(cache_creation_input_tokens) + tokensOf(cache_read_input_tokens),
      outputTokens: tokensOf(output_tokens),
      cost: 0,
    };
    this.#told.set(answerId, now);
    const more = {
      inputTokens: now.inputTokens - (before?.inputTokens ?? 0),
      outputTokens: now.outputTokens - (before?.outputTokens ?? 0),
      cost: 0,
    };
    const day = findTime(line.timestamp)?.slice(0, 10);
    this.builder.usage.add(day, name, more, before === undefined ? 1 : 0);
  }
}
