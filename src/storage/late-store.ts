import { confining } from "./confine.js";
import type { Store } from "./contract.js";
import { lateSession } from "./late-session.js";
import { type HandOver, via } from "./loaded-later.js";

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
    search: (...given) => call(given, (store, kept) => store.search(...kept)),
    writeTogether: (...given) => call(given, (store, kept) => store.writeTogether(...kept)),
    deleteMemory: (...given) => call(given, (store, kept) => store.deleteMemory(...kept)),
    pruneVersions: (...given) => call(given, (store, kept) => store.pruneVersions(...kept)),
    scrub: (...given) => call(given, async (store, kept) => (await store.scrub?.(...kept)) ?? "unknown"),
    backup: (...given) => call(given, (store, kept) => store.backup(...kept)),
    migrate: (...given) => call(given, (store, kept) => store.migrate(...kept)),
    close: (...given) => call(given, (store, kept) => store.close(...kept)),
  });
  const whole = storeOf(given);
  return whole;
}

function sessionsOf(handOver: HandOver<Store>): Store["sessions"] {
  const call = via(handOver, (store) => store.sessions);
  return {
    create: (...given) => call(given, (sessions, kept) => sessions.create(...kept)),
    get: (...given) => call(given, (sessions, kept) => sessions.get(...kept)),
    list: (...given) => call(given, (sessions, kept) => sessions.list(...kept)),
    count: (...given) => call(given, (sessions, kept) => sessions.count(...kept)),
    unregistered: (...given) => call(given, (sessions, kept) => sessions.unregistered(...kept)),
    update: (...given) => call(given, (sessions, kept) => sessions.update(...kept)),
    restore: (...given) => call(given, (sessions, kept) => sessions.restore(...kept)),
    delete: (...given) => call(given, (sessions, kept) => sessions.delete(...kept)),
    prune: (...given) => call(given, (sessions, kept) => sessions.prune(...kept)),
    addUsage: (...given) => call(given, (sessions, kept) => sessions.addUsage(...kept)),
    usageRows: (...given) => call(given, (sessions, kept) => sessions.usageRows(...kept)),
    importUsage: (...given) => call(given, (sessions, kept) => sessions.importUsage(...kept)),
    usage: (...given) => call(given, (sessions, kept) => sessions.usage(...kept)),
    compactionSums: (...given) => call(given, (sessions, kept) => sessions.compactionSums(...kept)),
    fork: (...given) => call(given, (sessions, kept) => sessions.fork(...kept)),
    split: (...given) => call(given, (sessions, kept) => sessions.split(...kept)),
    claim: (...given) => call(given, (sessions, kept) => sessions.claim(...kept)),
  };
}

function blocksOf(handOver: HandOver<Store>): Store["blocks"] {
  const call = via(handOver, (store) => store.blocks);
  return {
    get: (...given) => call(given, (blocks, kept) => blocks.get(...kept)),
    set: (...given) => call(given, (blocks, kept) => blocks.set(...kept)),
    append: (...given) => call(given, (blocks, kept) => blocks.append(...kept)),
    delete: (...given) => call(given, (blocks, kept) => blocks.delete(...kept)),
    list: (...given) => call(given, (blocks, kept) => blocks.list(...kept)),
    owners: (...given) => call(given, (blocks, kept) => blocks.owners(...kept)),
    versions: (...given) => call(given, (blocks, kept) => blocks.versions(...kept)),
    importVersions: (...given) => call(given, (blocks, kept) => blocks.importVersions(...kept)),
  };
}

function entriesOf(handOver: HandOver<Store>): Store["entries"] {
  const call = via(handOver, (store) => store.entries);
  return {
    labels: (...given) => call(given, (entries, kept) => entries.labels(...kept)),
    list: (...given) => call(given, (entries, kept) => entries.list(...kept)),
    count: (...given) => call(given, (entries, kept) => entries.count(...kept)),
    get: (...given) => call(given, (entries, kept) => entries.get(...kept)),
    set: (...given) => call(given, (entries, kept) => entries.set(...kept)),
    append: (...given) => call(given, (entries, kept) => entries.append(...kept)),
    delete: (...given) => call(given, (entries, kept) => entries.delete(...kept)),
    removed: (...given) => call(given, (entries, kept) => entries.removed(...kept)),
    versions: (...given) => call(given, (entries, kept) => entries.versions(...kept)),
    importVersions: (...given) => call(given, (entries, kept) => entries.importVersions(...kept)),
    search: (...given) => call(given, (entries, kept) => entries.search(...kept)),
  };
}

function recordsOf(handOver: HandOver<Store>): Store["records"] {
  const call = via(handOver, (store) => store.records);
  return {
    get: (...given) => call(given, (records, kept) => records.get(...kept)),
    set: (...given) => call(given, (records, kept) => records.set(...kept)),
    delete: (...given) => call(given, (records, kept) => records.delete(...kept)),
    list: (...given) => call(given, (records, kept) => records.list(...kept)),
    labels: (...given) => call(given, (records, kept) => records.labels(...kept)),
  };
}
