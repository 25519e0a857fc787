import { check, defineOptions, sha256, stringifyTagged, withParts } from "@stemma/model";
import { type MethodRow, PART_METHODS, SESSION_METHODS, STORE_METHODS } from "../contract/methods.js";
import type { OnceOperation, Store } from "../contract/store.js";
import { fingerprintIn, LEDGER } from "../operations/registry/ledger.js";

type Method = (...values: unknown[]) => unknown;
type Rows = Readonly<Record<string, MethodRow>>;

const ONCE = defineOptions<OnceOperation>({ id: check.required(check.text), fingerprint: check.text });

/** The fingerprint of an operation of which a write was done within a day; null where none was. Of a store of everybody's. */
export async function fingerprintOf(store: Store, id: string): Promise<string | null> {
  const [done] = await store.records.list(LEDGER, { prefix: `${sha256(id)}/`, limit: 1 });
  return done === undefined ? null : fingerprintIn(done.value);
}

/** `Store.once` of a store; `viewOf` gives one whose next call writes under a key of the ledger. */
export function onceStore(
  store: Store,
  operation: OnceOperation,
  viewOf: (key: string, fingerprint: string) => Store,
): Store {
  ONCE.assert(operation, "once()");
  const { id, fingerprint } = operation;
  const named = `${sha256(id)}/${sha256(store.userId ?? "")}`;
  // Of another name, a call may be left out when the operation is asked for again: what it makes is there.
  const counts = new Map<string, number>();
  const nextView = (name: string, values: readonly unknown[]): Store => {
    const count = counts.get(name) ?? 0;
    counts.set(name, count + 1);
    return viewOf(`${named}/${name}/${count}`, fingerprint ?? digestOf(values));
  };
  const writing = <P extends object>(family: string, part: P, rows: Rows, partOf: (view: Store) => object): P => {
    const writes = Object.entries(rows).flatMap(([name, { isOnce }]) => {
      if (!isOnce || !(name in part)) return [];
      const call = (...values: unknown[]) => {
        const target = partOf(nextView(`${family}.${name}`, values));
        return (target as Record<string, Method>)[name]?.apply(target, values);
      };
      return [[name, call] as const];
    });
    return { ...part, ...Object.fromEntries(writes) };
  };
  const { sessions, blocks, entries, records, ...whole } = store;
  const made = {
    ...writing("store", whole, STORE_METHODS, (view) => view),
    session: (sessionId: string) =>
      writing("session", store.session(sessionId), SESSION_METHODS, (view) => view.session(sessionId)),
    forUser: (userId: string) => store.forUser(userId).once?.(operation) ?? store.forUser(userId),
  };
  return withParts<typeof made, Pick<Store, "sessions" | "blocks" | "entries" | "records">>(made, {
    sessions: () => writing("sessions", sessions, PART_METHODS.sessions, (view) => view.sessions),
    blocks: () => writing("blocks", blocks, PART_METHODS.blocks, (view) => view.blocks),
    entries: () => writing("entries", entries, PART_METHODS.entries, (view) => view.entries),
    records: () => writing("records", records, PART_METHODS.records, (view) => view.records),
  });
}

// What cannot be written as data is refused by the method.
function digestOf(values: readonly unknown[]): string {
  try {
    return sha256(stringifyTagged(values));
  } catch {
    return "";
  }
}
