import type { ContextBlockOptions } from "../context/block.js";
import type { ContextBlockProvider } from "../context/provider.js";

/** Makes the provider of one session. */
export type ProviderForSession<P extends ContextBlockProvider = ContextBlockProvider> = (sessionId: string) => P;

/** A block of every session. A provider of ours is bound to each session, a function is called for each, any other object is shared by all. */
export interface ManagedContextOptions extends Omit<ContextBlockOptions, "provider"> {
  provider?: ContextBlockProvider | ProviderForSession | undefined;
}

/** A manager is configured by its methods; there are no options yet. */
export type SessionManagerOptions = Record<string, never>;

export interface NewSessionOptions {
  /** Default: a random UUID. */
  id?: string;
  parentSessionId?: string;
  model?: string;
  source?: string;
}
