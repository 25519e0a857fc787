import { check, defineOptions } from "@stemma/model";
import type { Awaitable } from "@stemma/session";
import type { BlockKey, EntryScope, MemoryOwner, MemoryScope, Store } from "@stemma/store";
import { refusal } from "./http/failure.js";
import type { Fields } from "./http/fields.js";
import { findSession } from "./route.js";
/** The rights of a request: none, all, or to see what is one user's. */
export type StudioAccess = boolean | { readonly userId: string };

export interface StudioOptions {
  /**
   * Says what a request may see. True is everything, false is refused with 401. `{ userId }` is what that user has: sessions,
   * blocks and entries; blocks of keys, which users share, are not.
   */
  authorize: (request: Request) => Awaitable<StudioAccess>;
  /** May change what is stored. Default: it only reads. */
  write?: boolean | undefined;
  /** The path that the page stands under. Default `/studio`; `/` where it has a server of its own. */
  basePath?: string | undefined;
  /** The hosts, each with its port, that a request may name: others are refused. Default: any. */
  hosts?: readonly string[] | undefined;
  /** Gets each error that is a fault of the server or of the database. Default: nobody is told but the page, without details. */
  onError?: ((error: unknown) => void) | undefined;
}

/** Serves the studio: give it the requests to `basePath` and below. It never fails. */
export type Studio = (request: Request) => Promise<Response>;

/** The options of `createStudio`. */
export const STUDIO = defineOptions<StudioOptions>({
  authorize: check.required(
    check.rule(
      "a function (request) => boolean: without it, whoever reaches the page would read every session",
      (value) => typeof value === "function",
    ),
  ),
  write: check.flag,
  basePath: check.rule(
    "a path as in URLs: it begins with / and holds letters, digits and - . _ ~ /",
    (path) => typeof path === "string" && /^\/[\w\-./~]*$/.test(path),
  ),
  hosts: check.texts("texts, such as localhost:4984"),
  onError: check.callable,
});

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
