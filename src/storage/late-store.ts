import { confining } from "./confine.js";
import type { Store } from "./contract.js";
import { type HandOver, methodsOf, via } from "./hand-over.js";
import { lateSession } from "./late-session.js";

/** What is known of a store before it is there. */
export type StoreTraits = Required<Pick<Store, "name" | "capabilities" | "order" | "observeStatements">>;

/** A store that hands each call over to another one with the same traits, which need not be there yet. */
export function lateStore(traits: StoreTraits, given: HandOver<Store>): Store {
  const { name, capabilities, order, observeStatements } = traits;
  const storeOf = (call: HandOver<Store>, userId?: string): Store => ({
    name,
    capabilities,
    order,
    observeStatements,
    userId,
    whole: userId === undefined ? undefined : whole,
    forUser: confining(userId, (other) => {
      const ofUser = via(call, (store) => store.forUser(other));
      return storeOf(ofUser, other);
    }),
    session: (id) => lateSession(call, id),
    sessions: sessionsOf(call),
    blocks: blocksOf(call),
    entries: entriesOf(call),
    records: recordsOf(call),
    ...methodsOf(call, "search", "writeTogether", "deleteMemory", "pruneVersions", "backup", "migrate", "close"),
    scrub: (...given) => call(given, async (store, kept) => (await store.scrub?.(...kept)) ?? "unknown"),
  });
  const whole = storeOf(given);
  return whole;
}

function sessionsOf(handOver: HandOver<Store>): Store["sessions"] {
  const call = via(handOver, (store) => store.sessions);
  return {
    ...methodsOf(call, "create", "get", "list", "count", "unregistered"),
    ...methodsOf(call, "update", "restore", "delete", "prune", "fork", "split", "claim"),
    ...methodsOf(call, "addUsage", "usageRows", "importUsage", "usage", "compactionSums"),
  };
}

function blocksOf(handOver: HandOver<Store>): Store["blocks"] {
  const call = via(handOver, (store) => store.blocks);
  return {
    ...methodsOf(call, "get", "set", "append", "delete"),
    ...methodsOf(call, "list", "owners", "versions", "importVersions"),
  };
}

function entriesOf(handOver: HandOver<Store>): Store["entries"] {
  const call = via(handOver, (store) => store.entries);
  return {
    ...methodsOf(call, "get", "set", "append", "delete", "search"),
    ...methodsOf(call, "labels", "list", "count", "removed", "versions", "importVersions"),
  };
}

function recordsOf(handOver: HandOver<Store>): Store["records"] {
  const call = via(handOver, (store) => store.records);
  return methodsOf(call, "get", "set", "delete", "list", "labels");
}
