import { StemmaError } from "../../errors.js";
import { assertStorableText } from "../../model/text.js";
import { assertSessionId } from "../../storage/session-id.js";

export interface SharingOptions {
  /** Keep one content for every session and agent on the store, instead of one per session. Default: false. */
  shared?: boolean | undefined;
}

/** Which session a provider keeps its content for: `null` until it is bound, and then the unnamed session's. */
export interface Binding {
  readonly shared: boolean;
  readonly sessionId: string | null;
}

/** The binding of a copy for `sessionId`; null when the provider serves that session as it is. Errors: `SESSION_ID_BOUND`. */
export function bindTo(binding: Binding, sessionId: string): Binding | null {
  if (binding.shared || scopeOf(binding) === sessionId) return null;
  assertSessionId(sessionId);
  if (binding.sessionId === null) return { shared: false, sessionId };
  throw new StemmaError(
    "SESSION_ID_BOUND",
    { sessionId, boundTo: binding.sessionId },
    `The provider is bound to session "${binding.sessionId}". Give session "${sessionId}" one of its own, or make it { shared: true }.`,
  );
}

/** The session id under which the store keeps the content. */
export function scopeOf(binding: Binding): string {
  return binding.sessionId ?? "";
}

/** The label of a provider that a block takes into use: the one that it was made with, or else the block's. */
export function takeLabel(own: string | undefined, present: string | undefined, label: string): string {
  if (own !== undefined) return own;
  if (present === undefined || present === label) return label;
  const message = `This provider already keeps the content of "${present}": make another provider for "${label}".`;
  throw new StemmaError("INVALID_ARGUMENT", { label, inUseBy: present }, message);
}

/** Throws `INVALID_ARGUMENT` or `INVALID_TEXT` unless the value can name something in a store. */
export function assertName(value: unknown, what: string): asserts value is string {
  if (typeof value !== "string" || value === "") {
    throw new StemmaError("INVALID_ARGUMENT", { what }, `${what} is a text that is not empty.`);
  }
  assertStorableText(value, what);
}
