import type { Store, StoreCapabilities } from "../storage/contract.js";

type Awaitable<T> = T | PromiseLike<T>;

/** A store as its author presents it to the conformance suite. */
export interface StoreTarget {
  /** As the test report names the store. */
  readonly name: string;
  /** Opens a store that holds nothing yet. Called for each case; the suite closes what it opened. */
  open(): Awaitable<Store>;
  /**
   * Opens what `store` holds once more: beside it, or after it was closed. Leave it out for a store that keeps nothing
   * after it is closed; the cases that need it are skipped.
   */
  reopen?(store: Store): Awaitable<Store>;
  /** What the store lacks, as `store.capabilities` says it too. Whatever is not named is there. */
  readonly capabilities?: Partial<StoreCapabilities>;
  /** Makes the stored form of a message unreadable, behind the store's back. */
  corrupt?(store: Store, sessionId: string, messageId: string): Awaitable<void>;
  /** Runs a statement of SQL on the tables of the documented names, behind the store's back. */
  damage?(store: Store, sql: string): Awaitable<void>;
  /**
   * Opens a store like `open` whose engine calls `before` ahead of every statement, the beginning and the end of
   * transactions included. What `before` throws must fail that statement.
   */
  openWithFaults?(before: (statement: string) => void): Awaitable<Store>;
  /** Everything that the engine holds, so that nothing half-written hides. Default: all that the contract shows. */
  dump?(store: Store): Awaitable<unknown>;
}

/** What a case may need beyond a store that opens. */
export type Need = keyof StoreCapabilities | "corrupt" | "damage" | "openWithFaults";

const REASONS: Record<Need, string> = {
  search: "the store has no search",
  embeddings: "the store takes no embedder",
  transactions: "the store cannot make several statements one atomic write",
  check: "the store cannot check itself",
  damage: "the target has no damage() to change rows with",
  durable: "the store keeps nothing after it is closed",
  corrupt: "the target has no corrupt() to damage a stored message with",
  openWithFaults: "the target has no openWithFaults() to fail statements with",
};

/** Why a case cannot run on a target; null when it can. */
export function reasonToSkip(target: StoreTarget, needs: readonly Need[]): string | null {
  const missing = needs.find((need) => !has(target, need));
  return missing === undefined ? null : REASONS[missing];
}

/** The capabilities that a target claims. */
export function capabilitiesOf(target: StoreTarget): StoreCapabilities {
  return {
    search: true,
    embeddings: true,
    transactions: true,
    check: true,
    durable: target.reopen !== undefined,
    ...target.capabilities,
  };
}

function has(target: StoreTarget, need: Need): boolean {
  if (need === "corrupt" || need === "damage" || need === "openWithFaults") return target[need] !== undefined;
  return capabilitiesOf(target)[need];
}
