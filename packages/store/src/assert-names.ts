import { assertFits } from "@stemma/model";
import type { BlockScope, NewSession } from "./contract/store.js";
import { SCOPES } from "./sql/session-id.js";

type SessionTexts = {
  readonly [Field in "id" | "userId" | "parentSessionId" | "name" | "model" | "source"]?: NewSession[Field] | undefined;
};

/** Throws `INVALID_ARGUMENT` for a session to which nothing new may be written, because its id is too long. */
export function assertSessionFits(id: string): void {
  assertFits(id, "A session id", "id");
}

/** The same for any text of a session that is to be registered. */
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

/** The same for the names under which something is to be kept. */
export function assertKeptNames({ sessionId, label, scope }: KeptName, key = ""): void {
  // A scope has a user's id behind its own beginning.
  assertSessionFits(
    sessionId.startsWith(SCOPES) ? sessionId.slice(sessionId.indexOf(":", SCOPES.length) + 1) : sessionId,
  );
  if (typeof scope === "object") assertFits(scope.key, "The key of a scope", "owner");
  assertFits(label, "A label", "label");
  assertFits(key, "A key", "key");
}
