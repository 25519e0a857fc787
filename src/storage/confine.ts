import { StemmaError } from "../errors.js";
import type { Store } from "./contract.js";
import { assertUserId } from "./session-id.js";

/** `forUser` of a store that is confined to `userId` already, or to nobody yet; `storeOf` makes the store of a user. */
export function confining(userId: string | undefined, storeOf: (userId: string) => Store): Store["forUser"] {
  return (other) => {
    assertUserId(other);
    if (userId !== undefined && other !== userId) throw confined("serve another one");
    return storeOf(other);
  };
}

/** The error for what a store of one user is not asked to do. */
export function confined(what: string): StemmaError {
  const message = `This store is confined to one user, and cannot ${what}: use the store that it was made of.`;
  return new StemmaError("SESSION_OWNED", {}, message);
}
