import type { Store, StoreCapabilities } from "@stemma/store";

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
  /**
   * The values that `store.capabilities` must have; one of them that is not named is taken as the store says it. Cases that
   * need what is false here are skipped before any store is opened.
   */
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
  /** Opens a store like `open` that searches tool calls as well. */
  openWithTools?(): Awaitable<Store>;
  /** Everything that the engine holds, so that nothing half-written hides. Default: all that the contract shows. */
  dump?(store: Store): Awaitable<unknown>;
}

/** A need of a case beyond a store that opens. */
export type Need = keyof StoreCapabilities | "corrupt" | "damage" | "openWithFaults" | "openWithTools";

type Capability = keyof StoreCapabilities;

/** Why a case is skipped for which the store lacks something. */
const LACKS: Record<Capability, string> = {
  search: "the store has no search",
  embeddings: "the store takes no embedder",
  transactions: "the store cannot make several statements one atomic write",
  check: "the store cannot check itself",
  durable: "the store keeps nothing after it is closed",
};

/** Why a case is skipped for which the target lacks a function. */
const UNSUPPLIED = {
  damage: "the target has no damage() to change rows with",
  corrupt: "the target has no corrupt() to damage a stored message with",
  openWithFaults: "the target has no openWithFaults() to fail statements with",
  openWithTools: "the target has no openWithTools() to search tool calls with",
};

const NO_REOPEN = "the target has no reopen() to open the store again with";

/** The names of what a store can or cannot do. */
export const CAPABILITIES = Object.keys(LACKS) as readonly Capability[];

/** Why a case cannot run on a target, of whose stores as much is known; null when it can, or when that is not known yet. */
export function reasonToSkip(
  target: StoreTarget,
  needs: readonly Need[],
  capabilities: Partial<StoreCapabilities> = target.capabilities ?? {},
): string | null {
  for (const need of needs) {
    if (need in UNSUPPLIED) {
      const name = need as keyof typeof UNSUPPLIED;
      if (target[name] === undefined) return UNSUPPLIED[name];
    } else if (capabilities[need as Capability] === false) return LACKS[need as Capability];
    else if (need === "durable" && target.reopen === undefined) return NO_REOPEN;
  }
  return null;
}
