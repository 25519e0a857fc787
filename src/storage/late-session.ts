import type { SessionStore, Store } from "./contract.js";
import { type HandOver, valuesOf, via } from "./loaded-later.js";
import { assertSessionId } from "./session-id.js";

/** A session of a store that need not be there yet. Errors: `INVALID_ARGUMENT` for the id. */
export function lateSession(handOver: HandOver<Store>, id: string): SessionStore {
  assertSessionId(id);
  const call = via(handOver, (store) => store.session(id));
  return {
    id,
    append: (...given) => call(given, (session, kept) => session.append(...kept)),
    appendSibling: (...given) => call(given, (session, kept) => session.appendSibling(...kept)),
    update: (...given) => call(given, (session, kept) => session.update(...kept)),
    upsert: (...given) => call(given, (session, kept) => session.upsert(...kept)),
    delete: (...given) => call(given, (session, kept) => session.delete(...kept)),
    clear: (...given) => call(given, (session, kept) => session.clear(...kept)),
    importTree: (...given) => call(given, (session, kept) => session.importTree(...kept)),
    setActiveLeaf: (...given) => call(given, (session, kept) => session.setActiveLeaf(...kept)),
    rewindTo: (...given) => call(given, (session, kept) => session.rewindTo(...kept)),
    selectBranch: (...given) => call(given, (session, kept) => session.selectBranch(...kept)),
    message: (...given) => call(given, (session, kept) => session.message(...kept)),
    leaf: (...given) => call(given, (session, kept) => session.leaf(...kept)),
    branches: (...given) => call(given, (session, kept) => session.branches(...kept)),
    parent: (...given) => call(given, (session, kept) => session.parent(...kept)),
    siblings: (...given) => call(given, (session, kept) => session.siblings(...kept)),
    path: (...given) => call(given, (session, kept) => session.path(...kept)),
    stream: (...given) => valuesOf(call, given, (session, kept) => session.stream(...kept)),
    recent: (...given) => call(given, (session, kept) => session.recent(...kept)),
    rowStats: (...given) => call(given, (session, kept) => session.rowStats(...kept)),
    length: (...given) => call(given, (session, kept) => session.length(...kept)),
    count: (...given) => call(given, (session, kept) => session.count(...kept)),
    tokens: (...given) => call(given, (session, kept) => session.tokens(...kept)),
    tree: (...given) => call(given, (session, kept) => session.tree(...kept)),
    treePage: (...given) => call(given, (session, kept) => session.treePage(...kept)),
    messages: (...given) => valuesOf(call, given, (session, kept) => session.messages(...kept)),
    search: (...given) => call(given, (session, kept) => session.search(...kept)),
    compactions: (...given) => call(given, (session, kept) => session.compactions(...kept)),
    addCompaction: (...given) => call(given, (session, kept) => session.addCompaction(...kept)),
    removeCompaction: (...given) => call(given, (session, kept) => session.removeCompaction(...kept)),
    originals: (...given) => call(given, (session, kept) => session.originals(...kept)),
    skills: (...given) => call(given, (session, kept) => session.skills(...kept)),
    changeSkills: (...given) => call(given, (session, kept) => session.changeSkills(...kept)),
    change: (...given) => call(given, (session, kept) => session.change(...kept)),
    writes: (...given) => call(given, (session, kept) => session.writes(...kept)),
  };
}
