import {
  estimateStringTokens,
  estimateTokens,
  foldLabel,
  inPieces,
  isSummaryMessage,
  mapped,
  type SessionMessage,
  StemmaError,
  sendable,
  sha256,
} from "@stemma/model";
import type { ContextBlock } from "../../context/block.js";
import type { SessionContext } from "../../context/session-context.js";
import type { SessionBackend } from "../own-provider/provider.js";
import type { TurnLog, TurnState } from "./log.js";
import { hasOtherBlocks, parseNote, shownBlocks, type TurnNote, updateOf } from "./notes.js";
import { DEFAULT_CACHE_TTL, type PrepareTurnOptions, type RefreshReason } from "./request.js";

/** A refresh is due when what was told since the last one is more than this share of the request. */
const LARGEST_SHARE = 0.1;

export interface TurnPlan {
  readonly refreshed: false | RefreshReason;
  /** True when the prompt is to be rendered; a compaction may have done so already. */
  readonly renders: boolean;
  /** The message that is to be answered. */
  readonly target: SessionMessage | undefined;
  /** True when something may be told behind it. */
  readonly isOpen: boolean;
  /** What each block was last shown as, by the folded label. */
  readonly shown: ReadonlyMap<string, string>;
  /** The blocks that are no longer what they were shown as. */
  readonly changed: readonly ContextBlock[];
}

/** What to do for a turn; `answeredAt`, in milliseconds since 1970, is when the model was last heard. Errors: `MESSAGE_NOT_FOUND`. */
export function planTurn(now: Present, options: PrepareTurnOptions, answeredAt: number): TurnPlan {
  const { frozen, blocks, messages, state, notes } = now;
  const target = targetOf(messages, options.messageId ?? undefined);
  const shown = frozen === null ? new Map<string, string>() : shownBlocks(frozen.text, messages, notes);
  const changed =
    frozen === null ? [] : blocks.filter((block) => block.content !== (shown.get(foldLabel(block.label)) ?? ""));
  const isRepeated = isSameTurn(now, target);
  const news = parseNote(updateOf(changed, shown));
  const refreshed = isRepeated ? false : refreshReason(now, news, options.cacheTtl, answeredAt);
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

function refreshReason(
  { frozen, blocks, labels, messages, state, notes }: Present,
  news: readonly { readonly content: string }[],
  cacheTtl = DEFAULT_CACHE_TTL,
  answeredAt: number,
): false | RefreshReason {
  if (frozen === null) return "first";
  const summaryId = summaryIn(messages);
  if (state !== null && summaryId !== null && summaryId !== state.summaryId) return "compaction";
  if (hasOtherBlocks(frozen.text, labels, blocks)) return "blocks";
  const told = messages.flatMap(({ id }) => parseNote(notes.get(id)?.update ?? ""));
  if (told.length === 0 && news.length === 0) return false;
  if (Date.now() - Math.max(state?.sentAt ?? 0, answeredAt) > cacheTtl) return "idle";
  const tokens = [...told, ...news].reduce((sum, { content }) => sum + estimateStringTokens(content), 0);
  return tokens > LARGEST_SHARE * (estimateStringTokens(frozen.text) + estimateTokens(messages)) ? "size" : false;
}

function targetOf(messages: readonly SessionMessage[], messageId: string | undefined): SessionMessage | undefined {
  if (messageId === undefined) return messages.findLast(({ role }) => role === "user");
  const found = messages.find(({ id }) => id === messageId);
  if (found !== undefined) return found;
  const text = `Message "${messageId}" is not in the visible history: append it before its turn is prepared.`;
  throw new StemmaError("MESSAGE_NOT_FOUND", { messageId }, text);
}

/** The id of the newest summary of a history; null without one. */
export function summaryIn(messages: readonly SessionMessage[]): string | null {
  return messages.findLast(isSummaryMessage)?.id ?? null;
}

/** What a turn is decided by, as it is now. */
export interface Present {
  /** The frozen prompt with its digest; null before the first. */
  readonly frozen: { readonly text: string; readonly digest: string } | null;
  readonly blocks: readonly ContextBlock[];
  /** The labels of all blocks, those that cannot be read included. */
  readonly labels: readonly string[];
  /** The visible history. */
  readonly messages: readonly SessionMessage[];
  /** What was sent last. */
  readonly state: TurnState | null;
  /** What was told beside the frozen prompt, by message. */
  readonly notes: ReadonlyMap<string, TurnNote>;
}

/** Where what a turn is decided by is read. */
export interface TurnSources {
  readonly backend: SessionBackend;
  readonly context: SessionContext;
  readonly log: TurnLog;
}

/** Reads what a turn is decided by. What it asks of the store is asked at once. */
export async function readPresent(
  { backend, context, log }: TurnSources,
  { onCorrupt }: PrepareTurnOptions,
): Promise<Present> {
  const [text, blocks, { messages }, state] = await Promise.all([
    context.prompt.known(),
    context.prompt.presentBlocks(),
    backend.path({ onCorrupt }),
    log.state(),
  ]);
  const frozen = text === null ? null : { text, digest: sha256(text) };
  const labels = context.live.all.map(({ label }) => label);
  return { frozen, blocks, labels, messages, state, notes: await log.notes(frozen?.digest) };
}

/** A user's message, as model requests have them. */
interface UserMessage {
  readonly role: "user";
  readonly content: { type: "text"; text: string }[];
}

/**
 * What is told between the steps of one turn. It stays at its place: the messages of each later step are those of the step
 * before, and go on.
 */
export class StepUpdates {
  readonly #told: { readonly at: number; readonly message: UserMessage }[] = [];

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
    const toldBefore = new Set<unknown>(this.#told.map(({ message }) => message));
    const own = messages.filter((message) => !toldBefore.has(message));
    if (text !== null) {
      this.#told.push({ at: own.length, message: { role: "user", content: [{ type: "text", text }] } });
    }
    const all: (M | UserMessage)[] = this.#told.length === 0 ? (messages as M[]) : [...own];
    for (const [before, { at, message }] of this.#told.entries()) all.splice(at + before, 0, message);
    // A tool of this turn may have given what no request can hold.
    const sent = await inPieces(mapped(all, (message) => this.mend(sendable(message))));
    return sent.length === messages.length && sent.every((message, index) => message === messages[index]) ? null : sent;
  }
}
