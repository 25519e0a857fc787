import type { UsageRow } from "../storage/contract.js";
import type { Usage } from "./session-file.js";

const NOTHING = { requests: 0, inputTokens: 0, outputTokens: 0, cost: 0 };

/** What the requests of a session used, by day and model. */
export class UsageCount {
  readonly #rows = new Map<string, UsageRow>();
  #sum: Usage | undefined;

  /** Counts a request of a day, as `2026-11-22`, or the rest of one that was counted in part. One of no day is only in the sum. */
  add(day: string | undefined, model: string, used: Usage, requests: number): void {
    this.#sum = sumOf(this.#sum ?? NOTHING, used);
    if (day === undefined) return;
    const key = `${day} ${model}`;
    const before = this.#rows.get(key) ?? NOTHING;
    this.#rows.set(key, { day, model, requests: before.requests + requests, ...sumOf(before, used) });
  }

  /** All that was counted, which the last piece of a session tells; nothing before that. */
  told(isLast: boolean): { readonly sum: Usage | undefined; readonly rows: UsageRow[] } {
    return isLast ? { sum: this.#sum, rows: [...this.#rows.values()] } : { sum: undefined, rows: [] };
  }
}

function sumOf(one: Usage, other: Usage): Usage {
  return {
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    cost: one.cost + other.cost,
  };
}
