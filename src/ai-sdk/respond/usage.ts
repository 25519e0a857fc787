import type { LanguageModelUsage, TextStreamPart, ToolSet } from "ai";
import { coreOf, type Session } from "../../session/session.js";
import type { AgentUsage, Usage } from "../../storage/contract.js";
import type { WriteRun } from "../run/run-session.js";

/** What the steps of an answer used: each is one request to the model. */
export class AnswerUsage {
  readonly #steps: (Usage & { readonly model: string })[] = [];

  constructor(private readonly costOf: ((usage: LanguageModelUsage) => number) | undefined) {}

  see(part: TextStreamPart<ToolSet>): void {
    if (part.type !== "finish-step") return;
    const { inputTokens = 0, outputTokens = 0 } = part.usage;
    if (inputTokens + outputTokens === 0) return;
    const cost = this.costOf?.(part.usage) ?? 0;
    this.#steps.push({ inputTokens, outputTokens, cost, model: part.response.modelId });
  }

  /** The sum of all steps. */
  get total(): AgentUsage {
    const sumOf = (tokens: (step: Usage) => number) => this.#steps.reduce((sum, step) => sum + tokens(step), 0);
    return { inputTokens: sumOf((step) => step.inputTokens), outputTokens: sumOf((step) => step.outputTokens) };
  }

  /** Counts it for a session of a store, unless that is gone or the run is lost. */
  async add(session: Session, write: WriteRun): Promise<void> {
    if (coreOf(session).store === null || this.#steps.length === 0) return;
    try {
      await write(this.#steps.map(({ model, ...usage }) => ({ registered: session.id, usage, model })));
    } catch {
      // The answer is stored all the same.
    }
  }
}
