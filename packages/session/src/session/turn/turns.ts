import type { SessionMessage } from "@stemma/model";
import { appendText, applyCompactions, StemmaError, summaryMessage } from "@stemma/model";
import type { StoredCompaction } from "@stemma/store";
import { observed } from "@stemma/store";
import type { SessionTools } from "../../tools/tool.js";
import { type ContextExplanation, explainTurn } from "./explain.js";
import type { TurnRecord } from "./log.js";
import { readTurns, type TurnPage, type TurnPageOptions } from "./log.js";
import { readPresent, type TurnSources } from "./plan.js";
import { explainNext, prepareTurn, type TurnMemory, type TurnParts, updateTurn } from "./prepare.js";
import type { PrepareTurnOptions, TurnRequest } from "./request.js";
/**
 * The turns of one session. What a call asks of the store it asks at once, in the order of the calls.
 */
export class Turns {
  #answeredAt = 0;
  readonly #memory: TurnMemory = { known: null };

  constructor(private readonly parts: TurnParts) {
    parts.context.access.onAnswer((folded, content, isAdded = false) => {
      const { known } = this.#memory;
      known?.set(folded, isAdded ? appendText(known.get(folded) ?? "", content) : content);
    });
  }

  /** Notes that messages were written through this object: one of the model's ends an answer. */
  wrote(messages: readonly SessionMessage[]): void {
    if (messages.some(({ role }) => role === "assistant")) this.#answeredAt = Date.now();
    // Until a turn is prepared, it is the latest one that the model answers.
    const asked = messages.findLast(({ role }) => role === "user");
    if (asked !== undefined) this.parts.context.answers(asked.id);
  }

  /** See `Session.prepareTurn`. */
  prepare(options: PrepareTurnOptions, asked: Promise<SessionTools>): Promise<TurnRequest> {
    const { store, backend } = this.parts;
    const turn = { type: "turn", name: "prepareTurn", sessionId: backend.id } as const;
    return observed(store, turn, () => this.#prepare(options, asked));
  }

  async #prepare(options: PrepareTurnOptions, asked: Promise<SessionTools>): Promise<TurnRequest> {
    const answeredAt = this.#answeredAt;
    const [now, tools] = await Promise.all([readPresent(this.parts, options), asked]);
    return prepareTurn(this.parts, this.#memory, { options, answeredAt, now, tools });
  }

  /** See `PreparedTurn.update`. */
  async update(): Promise<string | null> {
    const { known } = this.#memory;
    if (known === null) return null;
    return updateTurn(this.parts, known, await this.parts.context.prompt.presentBlocks());
  }

  /** What the next request would be made of. Changes nothing. */
  async explainNext(options: PrepareTurnOptions, asked: Promise<SessionTools>): Promise<ContextExplanation> {
    const answeredAt = this.#answeredAt;
    const [now, tools] = await Promise.all([readPresent(this.parts, options), asked]);
    return explainNext(this.parts, { options, answeredAt, now, tools });
  }

  /** What the latest request for a message was made of; null where nothing is known of it. */
  async explainPast(messageId: string): Promise<ContextExplanation | null> {
    const { backend, log } = this.parts;
    const [turn, compactions] = await Promise.all([log.turn(messageId), backend.compactions()]);
    return turn === null ? null : explainPast(this.parts, turn, compactions);
  }

  /** See `Session.getTurns`. */
  async list({ after, limit }: TurnPageOptions): Promise<TurnPage> {
    const { backend, log } = this.parts;
    const messages = backend.stream({ newestFirst: true, summaries: false, onCorrupt: "skip", after });
    return readTurns(messages, log, limit);
  }
}

/** What a past request was made of. */
async function explainPast(
  { backend, context }: TurnSources,
  turn: TurnRecord,
  compactions: readonly StoredCompaction[],
): Promise<ContextExplanation> {
  const visible = compactions.filter((compaction) => turn.summaryIds.includes(summaryMessage(compaction).id));
  const messages = applyCompactions(await pathTo(backend, turn.leafId), visible);
  return explainTurn(turn, { messages, blocks: context.live.all, compactions });
}

async function pathTo(backend: TurnSources["backend"], leafId: string | null): Promise<SessionMessage[]> {
  if (leafId === null) return [];
  try {
    return (await backend.path({ leafId, summaries: false, onCorrupt: "skip" })).messages;
  } catch (error) {
    if (StemmaError.isInstance(error, "MESSAGE_NOT_FOUND")) return [];
    throw error;
  }
}
