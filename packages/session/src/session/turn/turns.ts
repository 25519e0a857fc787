// A turn from the question to the request: what is read, decided, noted and sent.
import {
  appendText,
  applyCompactions,
  estimateStringTokens,
  estimateTokensInPieces,
  foldLabel,
  inPieces,
  mapped,
  type SessionMessage,
  StemmaError,
  sendable,
  sendableText,
  sha256,
  summaryMessage,
  yieldIfDue,
} from "@stemma/model";
import { type BlockWrite, observed, type Store } from "@stemma/store";
import type { ContextBlock } from "../../context/block.js";
import { contentsOf } from "../../context/prompt.js";
import { searchesMessages } from "../../context/provider.js";
import type { SessionContext } from "../../context/session-context.js";
import type { PresentBlocks } from "../../context/session-prompt.js";
import type { SessionTools } from "../../tools/tool.js";
import type { SessionBackend } from "../own-provider/provider.js";
import { blockPlaces, type Collection, collectionsOf, recallFrom } from "../recall/recall.js";
import { type Recollection, userOfRecall } from "../recall/recall-options.js";
import { type ContextExplanation, explainTurn } from "./explain.js";
import {
  type ComposedTurn,
  type KeptNotes,
  type KeptState,
  type LoggedTurn,
  loggedTurn,
  type RecallCost,
  readTurns,
  type TurnLog,
  type TurnPage,
  type TurnPageOptions,
} from "./log.js";
import {
  costOf,
  filtersOf,
  hasOtherBlocks,
  notesOf,
  parseNote,
  placeOf,
  questionOf,
  type Shown,
  shownBlocks,
  summaryNote,
  type TurnNote,
  updateOf,
  withNotes,
} from "./notes.js";
import {
  DEFAULT_CACHE_TTL,
  outlineOf,
  type PrepareTurnOptions,
  partsOf,
  type RefreshReason,
  summaryIn,
  type TurnRequest,
} from "./request.js";

export interface TurnParts {
  readonly backend: SessionBackend;
  readonly context: SessionContext;
  readonly log: TurnLog;
  /** Where other chats are recalled from; null where the session is kept by a provider of the host's. */
  readonly store: Store | null;
}

type ToolsOf = () => Promise<SessionTools>;

/** The turns of one session. What a call asks of the store it asks at once, in the order of the calls. */
export class Turns {
  /** When the model was last heard, in milliseconds since 1970; 0 for never. */
  #answeredAt = 0;
  /** The text of each block that the model knows since the last turn was prepared, by the folded label; null before. */
  #known: Map<string, string> | null = null;

  constructor(private readonly parts: TurnParts) {
    parts.context.access.onAnswer((folded, content, isAdded = false) => {
      this.#known?.set(folded, isAdded ? appendText(this.#known.get(folded) ?? "", content) : content);
    });
  }

  /** Notes that messages were written through this object: one of the model's ends an answer. */
  wrote(messages: readonly SessionMessage[]): void {
    if (messages.some(({ role }) => role === "assistant")) this.#answeredAt = Date.now();
    // Until a turn is prepared, it is the latest one that the model answers.
    const asked = messages.findLast(({ role }) => role === "user");
    if (asked !== undefined) this.parts.context.shown.messageId = asked.id;
  }

  /** Prepares a turn, as `Session.prepareTurn` does. `toolsOf` gives the tools. */
  prepare(options: PrepareTurnOptions, toolsOf: ToolsOf): Promise<TurnRequest & { readonly tools: SessionTools }> {
    const { store, backend } = this.parts;
    const turn = { type: "turn", name: "prepareTurn", sessionId: backend.id } as const;
    return observed(store, turn, () => this.#prepare(options, toolsOf));
  }

  async #prepare(options: PrepareTurnOptions, toolsOf: ToolsOf) {
    const { context, log } = this.parts;
    let draft = await this.#draft(options, toolsOf);
    let { note } = draft;
    let isNew = note !== null;
    for (;;) {
      const { now, plan, prompt, tools } = draft;
      const { turn, sent } = await this.#compose(draft, note);
      const logged = await loggedTurn(turn, now.state);
      if (!(await this.#store(draft, turn, logged, isNew ? note : null))) {
        // Another turn was faster: a note behind the same message is that one's, and behind another one nothing is quoted that it has.
        const told = await log.note(prompt, logged.messageId ?? "");
        if (told === null) draft = await this.#draftAgain(draft, options);
        note = told ?? draft.note;
        isNew = told === null && note !== null;
        continue;
      }
      const blocks = turn.system === now.frozen?.text ? now.frozen.blocks : await inPieces(contentsOf(turn.system));
      this.#known = shownBlocks(blocks, notesOf(now.messages, turn.notes));
      const changes = note === null ? [] : plan.changed;
      await context.show(logged.messageId, now.blocks, note === null ? plan.changed : [], plan.shown);
      const { tokens, ms, isLate } = turn.recall ?? { tokens: 0, ms: 0, isLate: false };
      const recalled = { results: note?.recalled ?? [], tokens, ms, isLate };
      return { ...sent, tools, changes, recalled, refreshed: plan.refreshed, prefixHash: logged.prefixHash };
    }
  }

  // All in one write, unless a provider of the host's keeps the prompt. False where the note is another process's.
  async #store({ now, plan, prompt }: Draft, turn: ComposedTurn, logged: LoggedTurn, note: TurnNote | null) {
    const { context, log } = this.parts;
    const { sentAt, messageId, leafId } = logged;
    const { outline, system } = turn;
    const state = { sentAt, prompt, summaryId: summaryIn(now.messages), messageId, leafId, outline };
    let isStored = true;
    const write = async (ofPrompt: BlockWrite | null): Promise<void> => {
      isStored = await log.write({ turn: logged, state, note, prompt: ofPrompt, before: now });
    };
    if (plan.renders) await context.prompt.replace(system, now.present, write);
    else await write(null);
    return isStored;
  }

  /** Tells where the blocks differ from what the model knows, which it knows from now on; null for nowhere. */
  async update(): Promise<string | null> {
    const known = this.#known;
    if (known === null) return null;
    const { context } = this.parts;
    const { blocks } = await context.prompt.present();
    const changed = blocks.filter(({ label, content }) => content !== (known.get(foldLabel(label)) ?? ""));
    if (changed.length === 0) return null;
    const text = updateOf(changed, known);
    for (const { label, content } of changed) known.set(foldLabel(label), content);
    await context.show(undefined, changed, [], known);
    return text;
  }

  /** Explains the next request. Changes nothing. */
  async explainNext(options: PrepareTurnOptions, toolsOf: ToolsOf): Promise<ContextExplanation> {
    const { backend, context } = this.parts;
    const draft = await this.#draft(options, toolsOf);
    const { now } = draft;
    const { turn } = await this.#compose(draft, draft.note);
    const compactions = await backend.compactions();
    const logged = { ...(await loggedTurn(turn, now.state)), sentAt: null };
    return explainTurn(logged, { messages: now.messages, blocks: context.live.all, compactions });
  }

  /** Explains the latest request for a message; null where nothing is known of it. */
  async explainPast(messageId: string): Promise<ContextExplanation | null> {
    const { backend, context, log } = this.parts;
    const [turn, compactions] = await Promise.all([log.turn(messageId), backend.compactions()]);
    if (turn === null) return null;
    const summaries = new Set(turn.summaryIds);
    const visible = compactions.filter((compaction) => summaries.has(summaryMessage(compaction).id));
    const messages = applyCompactions(await pathTo(backend, turn.leafId), visible);
    return explainTurn(turn, { messages, blocks: context.live.all, compactions });
  }

  /** A page of turns, the newest first. */
  async list({ after, limit }: TurnPageOptions): Promise<TurnPage> {
    const { backend, log } = this.parts;
    const messages = backend.stream({ newestFirst: true, summaries: false, onCorrupt: "skip", after });
    return readTurns(messages, log, limit);
  }

  // Reads, and decides; writes nothing.
  async #draft(options: PrepareTurnOptions, toolsOf: ToolsOf): Promise<Draft> {
    const answeredAt = this.#answeredAt;
    const collections = this.#collections(options);
    const [now, tools] = await Promise.all([readPresent(this.parts, options), toolsOf()]);
    return this.#decide(now, options, { tools, answeredAt, collections });
  }

  // With what another turn stored meanwhile.
  async #draftAgain({ now, tools, system, prompt }: Draft, options: PrepareTurnOptions): Promise<Draft> {
    const { log } = this.parts;
    const [state, kept] = await Promise.all([log.state(), log.notes()]);
    const isRendered = state?.prompt === prompt;
    const frozen = isRendered
      ? { text: system, digest: prompt, blocks: await inPieces(contentsOf(system)) }
      : now.frozen;
    const present = { ...now, frozen, state, kept, notes: kept.beside(frozen?.digest) };
    return this.#decide(present, options, { tools, answeredAt: this.#answeredAt });
  }

  async #decide(now: Present, options: PrepareTurnOptions, { tools, answeredAt, collections }: Asked): Promise<Draft> {
    const { context, log } = this.parts;
    const { frozen, messages } = now;
    const plan = await planTurn(now, options, answeredAt);
    const system = plan.renders || frozen === null ? await context.prompt.renderingOf(now.present) : frozen.text;
    const isSame = system === frozen?.text;
    const prompt = isSame ? frozen.digest : sha256(system);
    const notes = isSame ? now.notes : new Map<string, TurnNote>();
    const recollection = await this.#recall(plan, options, { system, messages, notes }, collections);
    const made = noteOf(plan, recollection);
    const note = made === null ? null : log.asStored(prompt, made);
    const names = new Set([...Object.keys(tools), ...Object.keys(options.tools ?? {})]);
    return { now, plan, tools, names, system, prompt, notes, recall: recollection && costOf(recollection), note };
  }

  // The request with this note behind the message that is to be answered.
  async #compose({ now, plan, tools, names, system, recall, ...draft }: Draft, note: TurnNote | null) {
    const { frozen, messages } = now;
    const notes = new Map(draft.notes);
    if (note !== null) notes.set(note.messageId, note);
    const searchable = this.parts.context.live.all.find(({ provider }) => searchesMessages.has(provider))?.label;
    const ofSummary = summaryNote(messages, { tools: names, searchable });
    if (ofSummary !== null) notes.set(ofSummary.messageId, ofSummary);
    const sent = { system: sendableText(system), messages: await inPieces(withNotes(messages, notes)) };
    const parts = await partsOf(tools, sent.system, sent.messages);
    const outline = await inPieces(outlineOf(parts));
    const { target, refreshed } = plan;
    const turn: ComposedTurn = { target, refreshed, parts, outline, messages, notes, recall, system, frozen };
    return { turn, sent };
  }

  // Asked with all else that a turn reads. Where it fails, the recall does so too, if there is one.
  #collections({ recall }: PrepareTurnOptions): Promise<readonly Collection[]> | undefined {
    const { store, backend, context } = this.parts;
    if (recall === undefined) return undefined;
    const asked = (async () => {
      const of = userOfRecall(store, recall, { sessionId: backend.id });
      return collectionsOf(of.store, { ...recall, userId: of.userId, places: blockPlaces(context.live.all) });
    })();
    asked.catch(() => {});
    return asked;
  }

  // What the user's memory holds about the message that is to be answered; null where it is not asked, or was asked before.
  async #recall(
    { target, isOpen }: TurnPlan,
    { recall }: PrepareTurnOptions,
    shown: Shown,
    collections: Promise<readonly Collection[]> | undefined,
  ): Promise<Recollection | null> {
    if (target === undefined || !isOpen || recall === undefined) return null;
    const { store, backend } = this.parts;
    const of = userOfRecall(store, recall, { sessionId: backend.id });
    const request = { ...recall, userId: of.userId, sessionId: backend.id, ...questionOf(target, shown.messages) };
    return recallFrom(of.store, { ...request, collections, ...filtersOf(backend.id, shown) });
  }
}

// What is to be told behind the message that is to be answered; null for nothing.
function noteOf({ target, isOpen, changed, shown }: TurnPlan, found: Recollection | null): TurnNote | null {
  if (target === undefined || !isOpen) return null;
  const { results = [], text = "" } = found ?? {};
  if (changed.length === 0 && results.length === 0) return null;
  const blocks = Object.fromEntries(changed.map(({ label, content }) => [foldLabel(label), content]));
  const update = updateOf(changed, shown);
  return { messageId: target.id, update, blocks, recall: text, recalled: results.map(placeOf) };
}

async function pathTo(backend: SessionBackend, leafId: string | null): Promise<SessionMessage[]> {
  if (leafId === null) return [];
  try {
    return (await backend.path({ leafId, summaries: false, onCorrupt: "skip" })).messages;
  } catch (error) {
    if (StemmaError.isInstance(error, "MESSAGE_NOT_FOUND")) return [];
    throw error;
  }
}

/** The state that a turn is decided by. */
interface Present {
  /** The frozen prompt with its digest, and what it shows of each block, by the folded label; null before the first. */
  readonly frozen: {
    readonly text: string;
    readonly digest: string;
    readonly blocks: ReadonlyMap<string, string>;
  } | null;
  readonly present: PresentBlocks;
  readonly blocks: readonly ContextBlock[];
  /** The folded labels of all blocks, those that cannot be read included. */
  readonly labels: ReadonlySet<string>;
  /** The visible history. */
  readonly messages: readonly SessionMessage[];
  /** The latest request, as far as the next one is compared with it. */
  readonly state: KeptState | null;
  readonly kept: KeptNotes;
  /** The notes beside the frozen prompt, by message. */
  readonly notes: ReadonlyMap<string, TurnNote>;
}

/** Reads what a turn is decided by. What it asks of the store is asked at once. */
async function readPresent({ backend, context, log }: TurnParts, { onCorrupt }: PrepareTurnOptions): Promise<Present> {
  const [text, present, { messages }, state, kept] = await Promise.all([
    context.prompt.known(),
    context.prompt.present(),
    backend.path({ onCorrupt }),
    log.state(),
    log.notes(),
  ]);
  const labels = new Set(context.live.all.map(({ folded }) => folded));
  const frozen = text === null ? null : { text, digest: sha256(text), blocks: await inPieces(contentsOf(text)) };
  const { blocks } = present;
  return { frozen, present, blocks, labels, messages, state, kept, notes: kept.beside(frozen?.digest) };
}

/** The answers that a turn needs beside the state. */
interface Asked {
  readonly tools: SessionTools;
  readonly answeredAt: number;
  readonly collections?: Promise<readonly Collection[]> | undefined;
}

/** A turn before anything of it is stored. */
interface Draft {
  readonly now: Present;
  readonly plan: TurnPlan;
  readonly tools: SessionTools;
  /** The names of all tools of the request. */
  readonly names: ReadonlySet<string>;
  readonly system: string;
  /** The digest of that. */
  readonly prompt: string;
  /** The notes that were told before, by message. */
  readonly notes: ReadonlyMap<string, TurnNote>;
  readonly recall: RecallCost | null;
  /** The note that is to be told; null for nothing. */
  readonly note: TurnNote | null;
}

/** A refresh is due when what was told since the last one is more than this share of the request. */
const LARGEST_SHARE = 0.1;

interface TurnPlan {
  readonly refreshed: false | RefreshReason;
  /** True when the prompt is to be rendered; a compaction may have done so already. */
  readonly renders: boolean;
  /** The message that is to be answered. */
  readonly target: SessionMessage | undefined;
  /** True when something may be told behind it. */
  readonly isOpen: boolean;
  /** The text that was last shown of each block, by the folded label. */
  readonly shown: ReadonlyMap<string, string>;
  /** The blocks that are no longer what they were shown as. */
  readonly changed: readonly ContextBlock[];
}

/** Decides what to do for a turn; `answeredAt`, in milliseconds since 1970, is when the model was last heard. Errors: `MESSAGE_NOT_FOUND`. */
async function planTurn(now: Present, options: PrepareTurnOptions, answeredAt: number): Promise<TurnPlan> {
  const { frozen, blocks, messages, state, notes } = now;
  const target = targetOf(messages, options.messageId ?? undefined);
  const noted = notesOf(messages, notes);
  const shown = frozen === null ? new Map<string, string>() : shownBlocks(frozen.blocks, noted);
  const changed =
    frozen === null ? [] : blocks.filter((block) => block.content !== (shown.get(foldLabel(block.label)) ?? ""));
  await yieldIfDue();
  const updates = [...noted.map(({ update }) => update), updateOf(changed, shown)];
  const isRepeated = isSameTurn(now, target);
  const refreshed = isRepeated ? false : await refreshReason(now, updates, options.cacheTtl, answeredAt);
  // A compaction renders the prompt itself. One that was laid by hand did not.
  const renders = refreshed !== false && (refreshed !== "compaction" || state?.prompt === frozen?.digest);
  // Further up it would change what the provider has in its cache.
  const isLast = target !== undefined && target === messages.at(-1);
  const isOpen = isLast && !isRepeated && (renders || !notes.has(target.id));
  return { refreshed, renders, target, isOpen, shown, changed: renders ? [] : changed };
}

// A call that is repeated for a message gives the same, whatever was written meanwhile.
function isSameTurn({ state, frozen, messages }: Present, target: SessionMessage | undefined): boolean {
  if (state === null || frozen === null || target === undefined || state.messageId !== target.id) return false;
  return state.prompt === frozen.digest && state.summaryId === summaryIn(messages);
}

async function refreshReason(
  { frozen, blocks, labels, messages, state }: Present,
  updates: readonly string[],
  cacheTtl = DEFAULT_CACHE_TTL,
  answeredAt: number,
): Promise<false | RefreshReason> {
  if (frozen === null) return "first";
  const summaryId = summaryIn(messages);
  if (state !== null && summaryId !== null && summaryId !== state.summaryId) return "compaction";
  if (hasOtherBlocks(frozen.blocks, labels, blocks)) return "blocks";
  const noted = updates.flatMap(parseNote);
  if (noted.length === 0) return false;
  if (Date.now() - Math.max(state?.sentAt ?? 0, answeredAt) > cacheTtl) return "idle";
  const tokens = noted.reduce((sum, { content }) => sum + estimateStringTokens(content), 0);
  const whole = estimateStringTokens(frozen.text) + (await estimateTokensInPieces(messages));
  return tokens > LARGEST_SHARE * whole ? "size" : false;
}

function targetOf(messages: readonly SessionMessage[], messageId: string | undefined): SessionMessage | undefined {
  if (messageId === undefined) return messages.findLast(({ role }) => role === "user");
  const found = messages.find(({ id }) => id === messageId);
  if (found !== undefined) return found;
  const text = `Message "${messageId}" is not in the visible history: append it before its turn is prepared.`;
  throw new StemmaError("MESSAGE_NOT_FOUND", { messageId }, text);
}

/** A user's message, as model requests have them. */
interface UserMessage {
  readonly role: "user";
  readonly content: { type: "text"; text: string }[];
}

/**
 * Tells of changes between the steps of one turn. Each note stays at its place: the messages of each later step are those of the step
 * before, and go on.
 */
export class StepUpdates {
  readonly #noted: { readonly at: number; readonly message: UserMessage }[] = [];

  /**
   * `update` gives what changed since it was last asked: see `PreparedTurn`. `mend` gives a message as the model takes it, the
   * same one where it does.
   */
  constructor(
    private readonly update: () => Promise<string | null>,
    private readonly mend: <M>(message: M) => M,
  ) {}

  /** The messages of a step with all that was told by then, as a request can hold them; null where they are to be sent as they are. */
  async before<M>(stepNumber: number, messages: readonly M[]): Promise<(M | UserMessage)[] | null> {
    const text = stepNumber === 0 ? null : await this.update();
    const notedBefore = new Set<unknown>(this.#noted.map(({ message }) => message));
    const own = messages.filter((message) => !notedBefore.has(message));
    if (text !== null) {
      this.#noted.push({ at: own.length, message: { role: "user", content: [{ type: "text", text }] } });
    }
    const all: (M | UserMessage)[] = this.#noted.length === 0 ? (messages as M[]) : [...own];
    for (const [before, { at, message }] of this.#noted.entries()) all.splice(at + before, 0, message);
    // A tool of this turn may have given what no request can hold.
    const sent = await inPieces(mapped(all, (message) => this.mend(sendable(message))));
    return sent.length === messages.length && sent.every((message, index) => message === messages[index]) ? null : sent;
  }
}
