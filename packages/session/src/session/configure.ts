import type { CompactFunction } from "@stemma/model";
import {
  assertArgument,
  assertFunction,
  check,
  defineOptions,
  invalid,
  StemmaError,
  storableText,
} from "@stemma/model";
import { promptKey, type Store } from "@stemma/store";
import { BLOCK } from "../context/block.js";
import { isWritable } from "../context/provider.js";
import type { PromptStore } from "../context/session-prompt.js";
import type { LearnFunction } from "../learning/learn.js";
import { DEFAULT_COMPACTION_TIMEOUT } from "./compaction/time-limit.js";
import {
  type CompactAfterOptions,
  EMPTY_CONFIG,
  type OnCompactionOptions,
  type OnLearningOptions,
  type SessionConfig,
  type SessionOptions,
} from "./options.js";

const SESSION = defineOptions<SessionOptions>({
  context: (blocks) => {
    if (!Array.isArray(blocks)) return "an array of blocks";
    for (const block of blocks) BLOCK.assertNames(block, "a block of the context");
  },
  promptStore: check.anything,
  tokenCounter: check.callable,
  onCompactionError: check.callable,
});
const timeout = check.positive("milliseconds");
const ON_COMPACTION = defineOptions<OnCompactionOptions>({ timeout });
const COMPACT_AFTER = defineOptions<CompactAfterOptions>({ tokenCounter: check.callable, timeout });
const ON_LEARNING = defineOptions<OnLearningOptions>({
  idleAfter: check.positive("milliseconds"),
  timeout,
  blocks: check.texts("labels"),
});

// What each builder method of a session changes in its configuration. Each throws `INVALID_ARGUMENT`.

/** The configuration that the options of `new Session` stand for. */
export function configOf(options: SessionOptions): SessionConfig {
  SESSION.assert(options, "new Session()");
  const { context = [] } = options;
  return {
    ...EMPTY_CONFIG,
    context: new Map(context.map((block) => [block.label, block])),
    cachedPrompt: options.promptStore ?? false,
    tokenCounter: options.tokenCounter ?? null,
    onCompactionError: options.onCompactionError ?? null,
  };
}

/** The part of a configuration that the other call of compaction said: each of the two is checked against it. */
export type Compacting = Pick<SessionConfig, "compact" | "threshold">;

/** The change that `Session.onCompaction` makes. */
export function compactionConfig(
  compact: CompactFunction,
  options: OnCompactionOptions,
  { threshold }: Compacting,
): Partial<SessionConfig> {
  assertFunction(compact, "The argument of onCompaction()");
  ON_COMPACTION.assert(options, "onCompaction()");
  assertRoom(compact, threshold);
  return { compact, compactTimeout: options.timeout ?? null };
}

/** The change that `Session.compactAfter` makes. Without a counter of its own, an earlier one stays. */
export function thresholdConfig(
  tokenThreshold: number,
  options: CompactAfterOptions,
  { compact }: Compacting,
): Partial<SessionConfig> {
  assertArgument(check.positive("tokens"), tokenThreshold, "The threshold of compactAfter()");
  COMPACT_AFTER.assert(options, "compactAfter()");
  const { tokenCounter, timeout } = options;
  assertRoom(compact, tokenThreshold);
  const change = { threshold: tokenThreshold, automaticTimeout: timeout ?? null };
  return tokenCounter === undefined ? change : { ...change, tokenCounter };
}

// A tail that holds all that the threshold allows leaves nothing to summarise.
function assertRoom(compact: CompactFunction | null, threshold: number | null): void {
  const { tailTokenBudget } = compact ?? {};
  if (threshold === null || typeof tailTokenBudget !== "number" || tailTokenBudget < threshold) return;
  const message = `tailTokenBudget (${tailTokenBudget}) must be less than the tokens of compactAfter() (${threshold}): nothing would ever be summarised. Leave it out, and the tail fits the threshold.`;
  throw invalid(message, { tailTokenBudget, threshold });
}

const IDLE_AFTER = 300_000;

/** The change that `Session.onLearning` makes. */
export function learningConfig(learn: LearnFunction, options: OnLearningOptions): Partial<SessionConfig> {
  assertFunction(learn, "The argument of onLearning()");
  ON_LEARNING.assert(options, "onLearning()");
  const { idleAfter = IDLE_AFTER, timeout = DEFAULT_COMPACTION_TIMEOUT, blocks } = options;
  return { learning: { learn, idleAfter, timeout, blocks: blocks ?? null } };
}

/** Where a session keeps its frozen prompt; null for in memory. Errors: `PROVIDER_REQUIRED`, `INVALID_ARGUMENT`. */
export function promptStoreFor(
  cachedPrompt: SessionConfig["cachedPrompt"],
  store: Store | null,
  sessionId: string,
): PromptStore | null {
  if (cachedPrompt === false) return null;
  if (cachedPrompt === true) {
    if (store !== null) return storedPrompt(store, sessionId);
    const message = "This session has no store for the frozen prompt: call withCachedPrompt(provider).";
    throw new StemmaError("PROVIDER_REQUIRED", {}, message);
  }
  const bound = cachedPrompt.forSession?.(sessionId) ?? cachedPrompt;
  if (isWritable(bound)) return bound;
  throw invalid("withCachedPrompt() takes a provider with get() and set().");
}

function storedPrompt(store: Store, sessionId: string): PromptStore {
  const key = promptKey(sessionId);
  return {
    get: async () => (await store.blocks.get(key))?.content ?? null,
    // What blocks of other providers hold is not checked when it is written.
    set: (content, options) => store.blocks.set(key, storableText(content), options),
    drop: () => store.blocks.delete(key),
    writeOf: (content) => ({ block: key, content: storableText(content) }),
    stored: (prompt) => store.redaction?.text(storableText(prompt), { kind: "prompt", sessionId, label: "" }) ?? prompt,
  };
}
