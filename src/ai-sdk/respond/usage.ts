import type { LanguageModelUsage, TextStreamPart, ToolSet } from "ai";
import type { Store } from "../../storage/contract.js";

/** What the steps of an answer used. */
export class Usage {
  #input = 0;
  #output = 0;
  #cost = 0;

  constructor(private readonly costOf: ((usage: LanguageModelUsage) => number) | undefined) {}

  see(part: TextStreamPart<ToolSet>): void {
    if (part.type !== "finish-step") return;
    this.#input += part.usage.inputTokens ?? 0;
    this.#output += part.usage.outputTokens ?? 0;
    this.#cost += this.costOf?.(part.usage) ?? 0;
  }

  /** Counts it for a session, unless that is gone. */
  async add(store: Store | null, sessionId: string): Promise<void> {
    if (store === null || this.#input + this.#output === 0) return;
    try {
      await store.sessions.addUsage(sessionId, this.#input, this.#output, this.#cost);
    } catch {
      // The answer is stored all the same.
    }
  }
}
