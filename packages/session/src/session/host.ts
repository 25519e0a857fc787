import { StemmaError } from "@stemma/model";
import { isStore } from "@stemma/store";
import type { SessionProvider } from "./own-provider/provider.js";
import { StoreSessionProvider } from "./own-provider/store-session-provider.js";

const METHODS = ["getMessage", "getHistory", "getLatestLeaf", "getBranches", "appendMessage", "updateMessage"];

/** True for an object with the documented methods of a provider. */
export function isSessionProvider(value: unknown): value is SessionProvider {
  if (typeof value !== "object" || value === null || isStore(value)) return false;
  return METHODS.every((method) => typeof (value as Record<string, unknown>)[method] === "function");
}

/** The session that a provider says it belongs to; null when it does not say. */
export function sessionIdOf(provider: SessionProvider): string | null {
  const { sessionId } = provider as { sessionId?: unknown };
  return typeof sessionId === "string" ? sessionId : null;
}

/** The provider of the session with this id. Errors: `SESSION_ID_BOUND`, `STORE_UNSUPPORTED`. */
export function providerFor(provider: SessionProvider, sessionId: string): SessionProvider {
  if (provider instanceof StoreSessionProvider) return provider.forSession(sessionId);
  const bound = sessionIdOf(provider);
  if (bound === sessionId) return provider;
  if (bound !== null) {
    const message = `This provider belongs to session "${bound}": make another one for "${sessionId}".`;
    throw new StemmaError("SESSION_ID_BOUND", { sessionId: bound, requested: sessionId }, message);
  }
  const message = `This provider has no sessionId, so it cannot serve "${sessionId}". Make a provider for each session, with the session's id as its sessionId.`;
  throw new StemmaError("STORE_UNSUPPORTED", { sessionId }, message);
}

/** The error for `what`, which only a store can do. */
export function storeNeeded(what: string): StemmaError {
  const message = `${what} needs a session of a store; this one is kept by a SessionProvider of your own.`;
  return new StemmaError("STORE_UNSUPPORTED", {}, message);
}

/** The provider for one user. Errors: `SESSION_OWNED`, `STORE_UNSUPPORTED`. */
export function providerForUser(provider: SessionProvider, userId: string): SessionProvider {
  if (provider instanceof StoreSessionProvider) return provider.forUser(userId);
  const message = "A SessionProvider of your own does not know of users: keep the session in a store.";
  throw new StemmaError("STORE_UNSUPPORTED", {}, message);
}
