import { isStore } from "../storage/store-of.js";
import type { SessionProvider } from "./provider.js";

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
