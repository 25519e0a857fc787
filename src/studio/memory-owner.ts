import type { BlockKey, EntryScope, MemoryOwner, MemoryScope, Store } from "../storage/contract.js";
import { refusal } from "./http/failure.js";
import type { Fields } from "./http/fields.js";
import { findSession } from "./route.js";

/** Whose blocks and entries: the store that has them, and how it names them. */
export interface MemoryPlace {
  readonly store: Store;
  readonly scope: MemoryScope;
}

/** The owner that the fields `session`, `user` or `key` name. Fails unless it is just one. */
export function ownerOf(fields: Fields): MemoryOwner {
  const session = fields.optionalText("session");
  const user = fields.optionalText("user");
  const key = fields.optionalText("key");
  const owners = [
    ...(session === undefined ? [] : [{ session }]),
    ...(user === undefined ? [] : [{ user }]),
    ...(key === undefined ? [] : [{ key }]),
  ];
  const [owner] = owners;
  if (owner !== undefined && owners.length === 1) return owner;
  throw refusal(400, "BAD_REQUEST", "Name one of session, user and key.");
}

/** Where an owner's memory is. One user's store has neither another user's nor that of a key. Errors: `SESSION_NOT_FOUND`. */
export async function placeOf(store: Store, owner: MemoryOwner): Promise<MemoryPlace> {
  if ("user" in owner) return { store: store.forUser(owner.user), scope: { sessionId: "", scope: "user" } };
  const isConfined = store.userId !== undefined;
  if ("session" in owner) {
    if (isConfined) await findSession(store, owner.session);
    return { store, scope: { sessionId: owner.session } };
  }
  if (isConfined) throw refusal(403, "NOT_ALLOWED", "What belongs to a key is shared by users and is not shown here.");
  return { store, scope: { sessionId: "", scope: { key: owner.key } } };
}

export function blockKey({ scope }: MemoryPlace, label: string): BlockKey {
  return { ...scope, kind: "block", label };
}

export function entryScope({ scope }: MemoryPlace, label: string): EntryScope {
  return { ...scope, label };
}
