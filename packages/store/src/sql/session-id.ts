import { assertFits, assertStorableText, invalid, kindOf, NAME_LIMITS, quote, shorten } from "@stemma/model";
import type { BlockScope, MemoryOwner, NewSession } from "../contract/store.js";
/** The session id below which an upgrade keeps the blocks and entries that `agents` wrote. No session has it. */
export const UPGRADED_ROWS = "agents_before_upgrade";

/** Begins what stands in the place of a session id for blocks and entries that belong to no session. No session's id begins so. */
export const SCOPES = "stemma:";

/** The beginnings of such scopes, by whose they are. */
export const MEMORY_SCOPES = { user: `${SCOPES}user:`, key: `${SCOPES}key:` } as const;

/** Where the blocks and entries of a user are kept: all of them have this in the column `session_id`. */
export const userScope = (userId: string) => MEMORY_SCOPES.user + userId;

/** Where those are kept that several share under a key. */
export const keyScope = (key: string) => MEMORY_SCOPES.key + key;

/** Whose blocks and entries are kept under `sessionId`. */
export function memoryOwner(sessionId: string): MemoryOwner {
  if (sessionId.startsWith(MEMORY_SCOPES.user)) return { user: sessionId.slice(MEMORY_SCOPES.user.length) };
  if (sessionId.startsWith(MEMORY_SCOPES.key)) return { key: sessionId.slice(MEMORY_SCOPES.key.length) };
  return { session: sessionId };
}

/** True for what `userScope` and `keyScope` give. */
export const isScope = (sessionId: string) => sessionId.startsWith(SCOPES);

/** True for an id that names no session. */
export const isReserved = (sessionId: string) => sessionId === UPGRADED_ROWS || isScope(sessionId);

/** Errors: `INVALID_TEXT`, and `INVALID_ARGUMENT` for an id that is reserved. */
export function assertSessionId(sessionId: string): void {
  if (typeof sessionId !== "string") throw invalid(`A session id must be a text; got ${kindOf(sessionId)}.`);
  assertStorableText(sessionId, "A session id");
  if (!isReserved(sessionId)) return;
  const message = `The session id "${sessionId}" is reserved: "${UPGRADED_ROWS}" and ids that begin with "${SCOPES}" name no session.`;
  throw invalid(message, { sessionId });
}

/** Errors: `INVALID_ARGUMENT`, `INVALID_TEXT`. */
export function assertUserId(userId: unknown): asserts userId is string {
  assertScopeName(userId, "A user id");
}

/** Errors: `INVALID_ARGUMENT`, `INVALID_TEXT`. */
export function assertScope(scope: unknown): asserts scope is BlockScope {
  if (scope === "session" || scope === "user") return;
  if (typeof scope === "object" && scope !== null && "key" in scope)
    return assertScopeName(scope.key, "The key of a scope");
  const got = typeof scope === "string" ? quote(shorten(scope)) : kindOf(scope);
  throw invalid(`A scope must be "session", "user" or { key: "…" }; got ${got}.`);
}

function assertScopeName(name: unknown, what: string): asserts name is string {
  if (typeof name !== "string" || name === "") {
    const got = name === "" ? "an empty one" : kindOf(name);
    throw invalid(`${what} must be a text that is not empty; got ${got}.`);
  }
  // Earlier versions counted characters, and what they stored is found: a write is measured in bytes.
  if (name.length > NAME_LIMITS.owner) assertFits(name, what, "owner");
  assertStorableText(name, what);
}

type SessionTexts = {
  readonly [Field in "id" | "userId" | "parentSessionId" | "name" | "model" | "source"]?: NewSession[Field] | undefined;
};

/** Throws `INVALID_ARGUMENT` for a session to which nothing new may be written, because its id is too long. */
export function assertSessionFits(id: string): void {
  assertFits(id, "A session id", "id");
}

/** Throws `INVALID_ARGUMENT` for a text of a session that is to be registered, because it is too long. */
export function assertSessionTexts({ id, userId, parentSessionId, name, model, source }: SessionTexts): void {
  if (id !== undefined) assertSessionFits(id);
  if (userId !== undefined) assertFits(userId, "A user id", "owner");
  if (parentSessionId !== undefined) assertFits(parentSessionId, "A session's parentSessionId", "id");
  if (name !== undefined) assertFits(name, "A session's name", "name");
  if (model !== undefined) assertFits(model, "A session's model", "model");
  if (source !== undefined) assertFits(source, "A session's source", "model");
}

interface KeptName {
  readonly sessionId: string;
  readonly label: string;
  readonly scope?: BlockScope | undefined;
}

/** Throws `INVALID_ARGUMENT` for names that are too long for something new to be stored under them. */
export function assertNames({ sessionId, label, scope }: KeptName, key = ""): void {
  // A scope has a user's id behind its own beginning.
  assertSessionFits(
    sessionId.startsWith(SCOPES) ? sessionId.slice(sessionId.indexOf(":", SCOPES.length) + 1) : sessionId,
  );
  if (typeof scope === "object") assertFits(scope.key, "The key of a scope", "owner");
  assertFits(label, "A label", "label");
  assertFits(key, "A key", "key");
}
