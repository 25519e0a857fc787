import type { SessionStore, Store } from "./contract.js";
import { type HandOver, methodsOf, valuesOf, via } from "./hand-over.js";
import { assertSessionId } from "./session-id.js";

/** What both a session of a store and one of a provider that a user wrote can do, but for its name. */
export type SharedMethods = Omit<
  SessionStore,
  "id" | "importTree" | "skills" | "changeSkills" | "messages" | "rowStats" | "count" | "treePage" | "change" | "writes"
>;

/** These methods of a session that need not be there yet. */
export function sharedMethods(call: HandOver<SharedMethods>): SharedMethods {
  return {
    ...methodsOf(call, "append", "appendSibling", "update", "upsert", "delete", "clear"),
    ...methodsOf(call, "setActiveLeaf", "rewindTo", "selectBranch"),
    ...methodsOf(call, "message", "leaf", "branches", "branchIds", "parent", "siblings", "siblingIds"),
    ...methodsOf(call, "path", "recent", "length", "tokens", "tree", "search"),
    ...methodsOf(call, "compactions", "addCompaction", "removeCompaction", "originals"),
    stream: (...given) => valuesOf(call, given, (session, kept) => session.stream(...kept)),
  };
}

/** A session of a store that need not be there yet. Errors: `INVALID_ARGUMENT` for the id. */
export function lateSession(handOver: HandOver<Store>, id: string): SessionStore {
  assertSessionId(id);
  const call = via(handOver, (store) => store.session(id));
  return {
    id,
    ...sharedMethods(call),
    ...methodsOf(call, "importTree", "rowStats", "count", "treePage", "skills", "changeSkills", "change", "writes"),
    messages: (...given) => valuesOf(call, given, (session, kept) => session.messages(...kept)),
  };
}
