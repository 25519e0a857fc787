import { StemmaError } from "../../errors.js";
import { assertStorableText } from "../../model/text.js";
import type { BlockScope, Store } from "../../storage/contract.js";
import { assertScope, assertSessionId, assertUserId } from "../../storage/session-id.js";
import { storeOf } from "../../storage/store-of.js";

export interface SharingOptions {
  /** Keep one content for every session and agent on the store, instead of one per session. Default: false. */
  shared?: boolean | undefined;
  /** Whose the content is, as `scope` of a block says. A user's needs a session of a user, or `forUser`. */
  scope?: BlockScope | undefined;
}

/** Whom a provider keeps its content for. */
export interface Binding {
  readonly shared: boolean;
  readonly scope: BlockScope | undefined;
  /** The session that uses it; `null` until it is bound, and then the unnamed session's. */
  readonly sessionId: string | null;
  readonly userId: string | null;
}

/** The binding of a provider that was just made. Errors: `INVALID_ARGUMENT`. */
export function newBinding({ shared = false, scope }: SharingOptions): Binding {
  if (scope !== undefined) assertScope(scope);
  if (shared && scope !== undefined) {
    throw new StemmaError("INVALID_ARGUMENT", {}, "A provider takes shared: true or a scope, not both.");
  }
  return { shared, scope, sessionId: null, userId: null };
}

/** The binding of a copy for `sessionId`; null when the provider serves that session as it is. Errors: `SESSION_ID_BOUND`. */
export function bindTo(binding: Binding, sessionId: string): Binding | null {
  if (binding.shared || scopeOf(binding) === sessionId) return null;
  assertSessionId(sessionId);
  if (binding.sessionId === null) return { ...binding, sessionId };
  throw new StemmaError(
    "SESSION_ID_BOUND",
    { sessionId, boundTo: binding.sessionId },
    `The provider is bound to session "${binding.sessionId}". Give session "${sessionId}" one of its own, or make it { shared: true }.`,
  );
}

/** The binding of a copy for a user; null when the provider serves that user as it is. Errors: `SESSION_OWNED`. */
export function bindToUser(binding: Binding, userId: string): Binding | null {
  assertUserId(userId);
  // What all share is not confined to one.
  if (binding.shared || binding.userId === userId) return null;
  if (binding.userId === null) return { ...binding, userId };
  throw new StemmaError("SESSION_OWNED", {}, "The provider is bound to another user: make another one.");
}

/** The store on `host`, confined to the user whom the provider serves. */
export function boundStore(host: object, { userId }: Binding): Store {
  const store = storeOf(host);
  return userId === null ? store : store.forUser(userId);
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
    throw new StemmaError("INVALID_ARGUMENT", { what }, `${what} must be a text that is not empty.`);
  }
  assertStorableText(value, what);
}
