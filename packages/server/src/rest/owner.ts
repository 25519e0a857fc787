import { invalid } from "@stemma/model";
import type { MemoryOwner, MemoryScope, Store } from "@stemma/store";
import { forbidden } from "../access/refusals.js";

/** Whose memory a request is about, and the store through which it is reached. */
export interface OwnedMemory {
  readonly store: Store;
  readonly scope: MemoryScope;
}

/**
 * Reads an owner: `user` for the user of the key or token, `user:{id}`, `session:{id}` or `key:{name}`. Errors: `INVALID_ARGUMENT`;
 * `FORBIDDEN` for a user whose memory is out of reach.
 */
export function memoryOf(store: Store, owner: string): OwnedMemory {
  const [, kind = "", id = ""] = /^(user|session|key):(.*)$/s.exec(owner) ?? [];
  if (kind === "session") return { store, scope: { sessionId: id } };
  if (kind === "key") return { store, scope: { sessionId: "", scope: { key: id } } };
  if (kind === "user") return { store: storeOfUser(store, id), scope: { sessionId: "", scope: "user" } };
  if (owner !== "user") throw invalid("An owner is user, user:{id}, session:{id} or key:{name}.");
  if (store.userId === undefined) throw invalid("This key is of no user: name the one, as user:{id}.");
  return { store, scope: { sessionId: "", scope: "user" } };
}

/** The part of the store that is a user's. Errors: `FORBIDDEN`. */
export function storeOfUser(store: Store, userId: string): Store {
  if (store.userId !== undefined && store.userId !== userId) {
    throw forbidden("This key is one user's, and reaches no other's memory.");
  }
  return store.forUser(userId);
}

/** An owner as a path has it. */
export function ownerName(owner: MemoryOwner): string {
  const [[kind, id]] = Object.entries(owner) as [[string, string]];
  return `${kind}:${id}`;
}
