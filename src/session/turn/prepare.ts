import { renderPrompt } from "../../context/prompt.js";
import { StemmaError } from "../../errors.js";
import { applyCompactions, summaryMessage } from "../../model/compactions.js";
import { foldLabel } from "../../model/fold-label.js";
import type { SessionMessage } from "../../model/message.js";
import { sha256 } from "../../model/sha256.js";
import { appendText } from "../../model/text.js";
import type { SessionTools } from "../../tools/tool.js";
import { type ComposedTurn, recordOf } from "./compose.js";
import { type ContextExplanation, explainTurn } from "./explain.js";
import { shownBlocks, type TurnNote, updateOf, withNotes } from "./notes.js";
import { outlineOf, partsOf } from "./parts.js";
import { type Present, planTurn, readPresent, summaryIn, type TurnPlan, type TurnSources } from "./plan.js";
import { NOTHING, type Recaller } from "./recall.js";
import type { PrepareTurnOptions, TurnRequest } from "./request.js";
import { readTurns, type TurnPage, type TurnPageOptions } from "./turns.js";

export interface TurnParts extends TurnSources {
  readonly recaller: Recaller;
}

/** What making a request changes: nothing, where it is only looked at. */
interface Effects {
  render(now: Present): Promise<string>;
  keep(prompt: string, note: TurnNote): Promise<TurnNote>;
}

/** Prepares the turns of one session. */
export class TurnPreparer {
  #answeredAt = 0;
  /** What the model knows of each block since the last turn was prepared, by the folded label; null before. */
  #known: Map<string, string> | null = null;

  constructor(private readonly parts: TurnParts) {
    parts.context.onToolAnswer((folded, content, isAdded = false) => {
      this.#known?.set(folded, isAdded ? appendText(this.#known.get(folded) ?? "", content) : content);
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
  async prepare(options: PrepareTurnOptions, tools: Promise<SessionTools>): Promise<TurnRequest> {
    const { context, log } = this.parts;
    const { turn, now, plan, note, system, prompt } = await this.#compose(options, tools, {
      render: () => context.refreshPrompt(),
      keep: (digest, made) => log.add(digest, made),
    });
    const record = recordOf(turn, now.state);
    const { messageId, leafId, sentAt, prefixHash } = record;
    const outline = outlineOf(turn.parts);
    await log.keepState({ sentAt, prompt, summaryId: summaryIn(now.messages), messageId, leafId, outline });
    await log.keepTurn(record);
    this.#known = shownBlocks(system, now.messages, turn.notes);
    const isSame = system === now.frozen?.text;
    await context.show(messageId, isSame ? now.blocks : null, note === null ? plan.changed : [], plan.shown);
    return {
      system,
      messages: withNotes(now.messages, turn.notes),
      changes: note === null ? [] : plan.changed,
      recalled: note?.recalled ?? [],
      refreshed: plan.refreshed,
      prefixHash,
    };
  }

  /** See `PreparedTurn.update`. */
  async update(): Promise<string | null> {
    const known = this.#known;
    if (known === null) return null;
    const blocks = await this.parts.context.presentBlocks();
    const changed = blocks.filter(({ label, content }) => content !== (known.get(foldLabel(label)) ?? ""));
    if (changed.length === 0) return null;
    const text = updateOf(changed, known);
    for (const { label, content } of changed) known.set(foldLabel(label), content);
    await this.parts.context.show(undefined, changed, [], known);
    return text;
  }

  /** What the next request would be made of. Changes nothing. */
  async explainNext(options: PrepareTurnOptions, tools: Promise<SessionTools>): Promise<ContextExplanation> {
    const { backend, context } = this.parts;
    const { turn, now } = await this.#compose(options, tools, {
      render: async ({ blocks }) => renderPrompt(blocks),
      keep: async (_, made) => made,
    });
    const compactions = await backend.compactions();
    const record = { ...recordOf(turn, now.state), sentAt: null };
    return explainTurn(record, { messages: now.messages, blocks: context.toolBlocks(), compactions });
  }

  /** What the latest request for a message was made of; null where nothing is known of it. */
  async explainPast(messageId: string): Promise<ContextExplanation | null> {
    const { backend, context, log } = this.parts;
    const [turn, compactions] = await Promise.all([log.turn(messageId), backend.compactions()]);
    if (turn === null) return null;
    const visible = compactions.filter((compaction) => turn.summaryIds.includes(summaryMessage(compaction).id));
    const messages = applyCompactions(await this.#pathTo(turn.leafId), visible);
    return explainTurn(turn, { messages, blocks: context.toolBlocks(), compactions });
  }

  /** See `Session.getTurns`. */
  list(options: TurnPageOptions): Promise<TurnPage> {
    return readTurns(this.parts.backend, this.parts.log, options);
  }

  async #compose(options: PrepareTurnOptions, asked: Promise<SessionTools>, effects: Effects) {
    const [now, tools] = await Promise.all([readPresent(this.parts, options), asked]);
    const plan = planTurn(now, options, this.#answeredAt);
    const system = plan.renders || now.frozen === null ? await effects.render(now) : now.frozen.text;
    const isSame = system === now.frozen?.text;
    const prompt = isSame ? now.frozen.digest : sha256(system);
    const notes = new Map(isSame ? now.notes : []);
    const made = await this.#noteFor(plan, options, notes);
    const note = made === null ? null : await effects.keep(prompt, made);
    if (note !== null) notes.set(note.messageId, note);
    const parts = partsOf(tools, system, withNotes(now.messages, notes));
    const turn: ComposedTurn = { target: plan.target, refreshed: plan.refreshed, parts, messages: now.messages, notes };
    return { turn, now, plan, note, system, prompt };
  }

  // What is to be told behind the message that is to be answered; null for nothing.
  async #noteFor(
    { target, isOpen, changed, shown }: TurnPlan,
    { recall }: PrepareTurnOptions,
    notes: ReadonlyMap<string, TurnNote>,
  ): Promise<TurnNote | null> {
    if (target === undefined || !isOpen) return null;
    const found = recall === undefined ? NOTHING : await this.parts.recaller.recall(target, recall, notes.values());
    if (changed.length === 0 && found.recalled.length === 0) return null;
    const blocks = Object.fromEntries(changed.map(({ label, content }) => [foldLabel(label), content]));
    return { messageId: target.id, update: updateOf(changed, shown), blocks, ...found };
  }

  async #pathTo(leafId: string | null): Promise<SessionMessage[]> {
    if (leafId === null) return [];
    try {
      return (await this.parts.backend.path({ leafId, summaries: false, onCorrupt: "skip" })).messages;
    } catch (error) {
      if (StemmaError.isInstance(error, "MESSAGE_NOT_FOUND")) return [];
      throw error;
    }
  }
}
