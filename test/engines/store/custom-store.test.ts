import { consolidate } from "../../../packages/store/src/consolidation/consolidate.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { memory } from "../../../packages/store/src/memory.js";
import { describeStore } from "../../describe-store.js";

/** A store that somebody else wrote: what the contract asks for, and none of what it leaves open but `whole`. */
function customStore(inner: Store, whole?: Store): Store {
  const store: Store = {
    name: "custom",
    capabilities: { ...inner.capabilities, embeddings: false, check: false },
    userId: inner.userId,
    whole,
    session: (id) => inner.session(id),
    sessions: inner.sessions,
    blocks: inner.blocks,
    entries: inner.entries,
    records: inner.records,
    writeTogether: (writes) => inner.writeTogether(writes),
    deleteMemory: (scope) => inner.deleteMemory(scope),
    pruneVersions: (scope, request) => inner.pruneVersions(scope, request),
    pruneExpired: (scope, request) => inner.pruneExpired(scope, request),
    consolidate,
    forUser: (userId) => customStore(inner.forUser(userId), whole ?? store),
    search: (query, request) => inner.search(query, request),
    backup: (path) => inner.backup(path),
    migrate: () => inner.migrate(),
    close: () => inner.close(),
  };
  return store;
}

describeStore("custom", {
  name: "custom",
  open: () => customStore(memory()),
  capabilities: { embeddings: false, check: false },
});
