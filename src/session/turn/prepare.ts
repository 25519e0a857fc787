import type { ContextBlock } from "../../context/block.js";
import { foldLabel } from "../../context/label.js";
import type { SessionContext } from "../../context/session-context.js";
import { StemmaError } from "../../errors.js";
import { isSummaryMessage, type SessionMessage } from "../../model/message.js";
import { sha256 } from "../../model/sha256.js";
import { estimateStringTokens, estimateTokens } from "../../model/tokens.js";
import type { SessionBackend } from "../provider.js";
import type { TurnLog, TurnState } from "./log.js";
import { hasOtherBlocks, noteFor, shownBlocks, type TurnNote, withNotes } from "./notes.js";

/** How long providers keep the prefix of a request, in milliseconds, unless `cacheTtl` says otherwise. */
export const DEFAULT_CACHE_TTL = 300_000;

/** A refresh is due when what was told since the last one is more than this share of the request. */
const LARGEST_SHARE = 0.1;

export interface PrepareTurnOptions {
  /** The user's message that is to be answered. Default: the last one of the visible history. */
  messageId?: string | undefined;
  /** How long the model's provider keeps the prefix of a request, in milliseconds. Default 300,000. */
  cacheTtl?: number | undefined;
}

/**
 * Why the prompt was rendered anew: there was none, a compaction rewrote the history, the provider no longer keeps the
 * prefix, blocks were added or removed, or too much was told since.
 */
export type RefreshReason = "first" | "compaction" | "idle" | "blocks" | "size";

/** What a model is to be asked with, beside the tools. */
export interface TurnRequest<M extends SessionMessage = SessionMessage> {
  /** The frozen prompt. */
  readonly system: string;
  /** The visible history, oldest first; what changed since the prompt was frozen is the last text part of a user's message. */
  readonly messages: M[];
  /** The blocks whose change this turn tells for the first time. */
  readonly changes: readonly ContextBlock[];
  readonly refreshed: false | RefreshReason;
  /** SHA-256, in hex, of `system` and `messages`: equal for requests that are the same. */
  readonly prefixHash: string;
}

export interface TurnParts {
  readonly backend: SessionBackend;
  readonly context: SessionContext;
  readonly log: TurnLog;
}

/** Prepares the turns of one session. */
export class TurnPreparer {
  #answeredAt = 0;

  constructor(private readonly parts: TurnParts) {}

  /** Notes that messages were written through this object: one of the model's ends an answer. */
  wrote(messages: readonly SessionMessage[]): void {
    if (messages.some(({ role }) => role === "assistant")) this.#answeredAt = Date.now();
    // Until a turn is prepared, it is the latest one that the model answers.
    const asked = messages.findLast(({ role }) => role === "user");
    if (asked !== undefined) this.parts.context.answers(asked.id);
  }

  /** See `Session.prepareTurn`. */
  async prepare(options: PrepareTurnOptions): Promise<TurnRequest> {
    const { context, log } = this.parts;
    const { frozen, blocks, messages, state } = await this.#read();
    const target = targetOf(messages, options.messageId);
    const kept = frozen === null ? new Map<string, TurnNote>() : await log.notes(sha256(frozen));
    const seen = frozen === null ? new Map<string, string>() : shownBlocks(frozen, messages, kept);
    const changed =
      frozen === null ? [] : blocks.filter((block) => block.content !== (seen.get(foldLabel(block.label)) ?? ""));
    const isRepeated = frozen !== null && isSameTurn(state, frozen, messages, target);
    const refreshed = isRepeated ? false : this.#reason({ frozen, blocks, messages, state, kept, changed }, options);
    const system = frozen === null || mustRender(refreshed, frozen, state) ? await context.refreshPrompt() : frozen;
    const notes = system === frozen ? kept : new Map<string, TurnNote>();
    // Further up it would change what the provider has in its cache.
    const isOpen = target !== undefined && target === messages.at(-1) && !notes.has(target.id);
    const isTold = isOpen && !isRepeated && system === frozen && changed.length > 0;
    if (isTold) notes.set(target.id, await log.add(noteFor(target.id, sha256(system), changed, seen)));
    const untold = isTold || system !== frozen ? [] : changed;
    await context.show(target?.id ?? null, system === frozen ? blocks : null, untold, seen);
    await log.keepState({
      sentAt: Date.now(),
      prompt: sha256(system),
      summaryId: summaryIn(messages),
      messageId: target?.id ?? null,
    });
    const shown = withNotes(messages, notes);
    const prefixHash = await hashOf(system, shown);
    return { system, messages: shown, changes: isTold ? changed : [], refreshed, prefixHash };
  }

  async #read() {
    const { backend, context, log } = this.parts;
    const [frozen, blocks, { messages }, state] = await Promise.all([
      context.knownPrompt(),
      context.presentBlocks(),
      backend.path(),
      log.state(),
    ]);
    return { frozen, blocks, messages, state };
  }

  #reason(now: Present, { cacheTtl = DEFAULT_CACHE_TTL }: PrepareTurnOptions): false | RefreshReason {
    const { frozen, blocks, messages, state, kept, changed } = now;
    if (frozen === null) return "first";
    if (state !== null && summaryIn(messages) !== state.summaryId && summaryIn(messages) !== null) return "compaction";
    const labels = this.parts.context.toolBlocks().map(({ label }) => label);
    if (hasOtherBlocks(frozen, labels, blocks)) return "blocks";
    const told = messages.flatMap(({ id }) => kept.get(id) ?? []);
    if (told.length === 0 && changed.length === 0) return false;
    const lastUse = Math.max(state?.sentAt ?? 0, this.#answeredAt);
    if (Date.now() - lastUse > cacheTtl) return "idle";
    const size = [...told.map(({ text }) => text), ...changed.map(({ content }) => content)];
    const tokens = size.reduce((sum, text) => sum + estimateStringTokens(text), 0);
    return tokens > LARGEST_SHARE * (estimateStringTokens(frozen) + estimateTokens(messages)) ? "size" : false;
  }
}

interface Present {
  readonly frozen: string | null;
  readonly blocks: readonly ContextBlock[];
  readonly messages: readonly SessionMessage[];
  readonly state: TurnState | null;
  readonly kept: ReadonlyMap<string, TurnNote>;
  readonly changed: readonly ContextBlock[];
}

// A call that is repeated for a message gives the same, whatever was written meanwhile.
function isSameTurn(
  state: TurnState | null,
  frozen: string,
  messages: readonly SessionMessage[],
  target: SessionMessage | undefined,
): boolean {
  if (state === null || target === undefined || state.messageId !== target.id) return false;
  return state.prompt === sha256(frozen) && state.summaryId === summaryIn(messages);
}

// A compaction renders the prompt itself. One that was laid by hand did not.
function mustRender(reason: false | RefreshReason, frozen: string, state: TurnState | null): boolean {
  return reason !== false && (reason !== "compaction" || state?.prompt === sha256(frozen));
}

/** Errors: `MESSAGE_NOT_FOUND`. */
function targetOf(messages: readonly SessionMessage[], messageId: string | undefined): SessionMessage | undefined {
  if (messageId === undefined) return messages.findLast(({ role }) => role === "user");
  const found = messages.find(({ id }) => id === messageId);
  if (found !== undefined) return found;
  const text = `Message "${messageId}" is not in the visible history: append it before its turn is prepared.`;
  throw new StemmaError("MESSAGE_NOT_FOUND", { messageId }, text);
}

function summaryIn(messages: readonly SessionMessage[]): string | null {
  return messages.findLast(isSummaryMessage)?.id ?? null;
}

async function hashOf(system: string, messages: readonly SessionMessage[]): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify([system, messages]));
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Errors: `INVALID_ARGUMENT` for what is no number of milliseconds; `Infinity` is one. */
export function assertCacheTtl(cacheTtl: unknown): void {
  if (cacheTtl === undefined || (typeof cacheTtl === "number" && cacheTtl >= 0)) return;
  throw new StemmaError(
    "INVALID_ARGUMENT",
    {},
    "The cacheTtl of prepareTurn() is a number of milliseconds, 0 or more.",
  );
}
