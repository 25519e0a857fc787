import type { ContextBlock } from "../../context/block.js";
import { renderPrompt } from "../../context/prompt.js";
import { searchesMessages } from "../../context/provider.js";
import { turnIfDue } from "../../event-loop.js";
import { foldLabel } from "../../model/fold-label.js";
import { sendableText } from "../../model/sendable.js";
import { sha256 } from "../../model/sha256.js";
import type { Store } from "../../storage/contract.js";
import type { SessionTools } from "../../tools/tool.js";
import { type ComposedTurn, recordOf } from "./compose.js";
import { type ContextExplanation, explainTurn } from "./explain.js";
import { shownBlocks, type TurnNote, updateOf, withNotes } from "./notes.js";
import { outlineOf, partsOf } from "./parts.js";
import { planTurn, summaryIn, type TurnPlan } from "./plan.js";
import type { Present, TurnSources } from "./present.js";
import { NOTHING, Recaller } from "./recall.js";
import type { PrepareTurnOptions, TurnRequest } from "./request.js";
import { summaryNote } from "./summary-note.js";

export interface TurnParts extends TurnSources {
  /** Where other chats are recalled from; null where the session is kept by a provider of the host's. */
  readonly store: Store | null;
}

/** What a process knows of a session's turns beside what is stored. */
export interface TurnMemory {
  /** What the model knows of each block since the last turn was prepared, by the folded label; null before. */
  known: Map<string, string> | null;
}

/** What a turn is made of: the caller's options, and what there was when it was asked for. */
interface Asked {
  readonly options: PrepareTurnOptions;
  /** When the model was last heard, in milliseconds since 1970; 0 for never. */
  readonly answeredAt: number;
  readonly now: Present;
  readonly tools: SessionTools;
}

/** What making a request changes: nothing, where it is only looked at. */
interface Effects {
  render(now: Present): Promise<string>;
  keep(prompt: string, note: TurnNote): Promise<TurnNote>;
}

/** See `Session.prepareTurn`. */
export async function prepareTurn(parts: TurnParts, memory: TurnMemory, asked: Asked): Promise<TurnRequest> {
  const { context, log } = parts;
  const { now } = asked;
  const { turn, plan, note, system, prompt, sent } = await compose(parts, asked, {
    render: () => context.prompt.refresh(),
    keep: (digest, made) => log.add(digest, made),
  });
  const record = await recordOf(turn, now.state);
  const { messageId, leafId, sentAt, prefixHash } = record;
  const outline = outlineOf(turn.parts);
  await log.keepState({ sentAt, prompt, summaryId: summaryIn(now.messages), messageId, leafId, outline });
  await log.keepTurn(record);
  memory.known = shownBlocks(system, now.messages, turn.notes);
  const isSame = system === now.frozen?.text;
  await context.show(messageId, isSame ? now.blocks : null, note === null ? plan.changed : [], plan.shown);
  return {
    ...sent,
    changes: note === null ? [] : plan.changed,
    recalled: note?.recalled ?? [],
    refreshed: plan.refreshed,
    prefixHash,
  };
}

/** See `PreparedTurn.update`: what `blocks` say otherwise than the model knows them, which it knows from now on. */
export async function updateTurn(
  { context }: TurnParts,
  known: Map<string, string>,
  blocks: readonly ContextBlock[],
): Promise<string | null> {
  const changed = blocks.filter(({ label, content }) => content !== (known.get(foldLabel(label)) ?? ""));
  if (changed.length === 0) return null;
  const text = updateOf(changed, known);
  for (const { label, content } of changed) known.set(foldLabel(label), content);
  await context.show(undefined, changed, [], known);
  return text;
}

/** What the next request would be made of. Changes nothing. */
export async function explainNext(parts: TurnParts, asked: Asked): Promise<ContextExplanation> {
  const { backend, context } = parts;
  const { now } = asked;
  const { turn } = await compose(parts, asked, {
    render: async ({ blocks }) => renderPrompt(blocks),
    keep: async (_, made) => made,
  });
  const compactions = await backend.compactions();
  const record = { ...(await recordOf(turn, now.state)), sentAt: null };
  await turnIfDue();
  return explainTurn(record, { messages: now.messages, blocks: context.live.all, compactions });
}

async function compose(parts: TurnParts, { options, answeredAt, now, tools }: Asked, effects: Effects) {
  const plan = planTurn(now, options, answeredAt);
  const system = plan.renders || now.frozen === null ? await effects.render(now) : now.frozen.text;
  const isSame = system === now.frozen?.text;
  const prompt = isSame ? now.frozen.digest : sha256(system);
  const notes = new Map(isSame ? now.notes : []);
  const made = await noteFor(parts, plan, options, notes);
  const note = made === null ? null : await effects.keep(prompt, made);
  if (note !== null) notes.set(note.messageId, note);
  const others = Object.keys(options.tools ?? {});
  const searchable = parts.context.live.all.find(({ provider }) => searchesMessages.has(provider))?.label;
  const told = summaryNote(now.messages, { tools: new Set([...Object.keys(tools), ...others]), searchable });
  if (told !== null) notes.set(told.messageId, told);
  await turnIfDue();
  const sent = { system: sendableText(system), messages: withNotes(now.messages, notes) };
  await turnIfDue();
  const pieces = await partsOf(tools, sent.system, sent.messages);
  const { target, refreshed } = plan;
  const turn: ComposedTurn = {
    target,
    refreshed,
    parts: pieces,
    messages: now.messages,
    notes,
    system,
    frozen: now.frozen,
  };
  return { turn, plan, note, system, prompt, sent };
}

// What is to be told behind the message that is to be answered; null for nothing.
async function noteFor(
  { store, backend }: TurnParts,
  { target, isOpen, changed, shown }: TurnPlan,
  { recall }: PrepareTurnOptions,
  notes: ReadonlyMap<string, TurnNote>,
): Promise<TurnNote | null> {
  if (target === undefined || !isOpen) return null;
  const recaller = new Recaller(store, backend.id);
  const found = recall === undefined ? NOTHING : await recaller.recall(target, recall, notes.values());
  if (changed.length === 0 && found.recalled.length === 0) return null;
  const blocks = Object.fromEntries(changed.map(({ label, content }) => [foldLabel(label), content]));
  return { messageId: target.id, update: updateOf(changed, shown), blocks, ...found };
}
