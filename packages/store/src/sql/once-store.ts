import { check, defineOptions, perObject, sha256, stringifyTagged, withParts } from "@stemma/model";
import { type MethodRow, PART_METHODS, SESSION_METHODS, STORE_METHODS } from "../contract/methods.js";
import type { OnceOperation, Store } from "../contract/store.js";
import { fingerprintIn, LEDGER } from "../operations/registry/ledger.js";

type Method = (...values: unknown[]) => unknown;
type Rows = Readonly<Record<string, MethodRow>>;
type Parts = "sessions" | "blocks" | "entries" | "records";

const PARTS: ReadonlySet<string> = new Set<Parts>(["sessions", "blocks", "entries", "records"]);
const NOBODY = sha256("");

const ONCE = defineOptions<OnceOperation>({ id: check.required(check.text), fingerprint: check.text });

/** A call of an operation: its name, such as "session.append", and whose store it is a call of. */
export interface OnceCall {
  readonly name: string;
  readonly userId?: string | undefined;
}

/**
 * The fingerprint of an operation of which a write was done within a day; null where none was. With `call`, only its first write by a
 * call of that name counts. Of a store of everybody's.
 */
export async function fingerprintOf(store: Store, id: string, call?: OnceCall): Promise<string | null> {
  const prefix = call === undefined ? `${sha256(id)}/` : `${rowsOf(id, call.userId)}/${call.name}/0`;
  const [done] = await store.records.list(LEDGER, { prefix, limit: 1 });
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
  const named = rowsOf(id, store.userId);
  // Of another name, a call may be left out when the operation is asked for again: what it makes is there.
  const counts = new Map<string, number>();
  const nextView = (name: string, values: readonly unknown[]): Store => {
    const count = counts.get(name) ?? 0;
    counts.set(name, count + 1);
    return viewOf(`${named}/${name}/${count}`, fingerprint ?? digestOf(values));
  };
  const writing = <P extends object>(family: string, part: P, rows: Rows, partOf: (view: Store) => object): P => {
    const made = { ...part } as Record<string, unknown>;
    for (const name of writesOf(rows)) {
      if (name in part) {
        made[name] = (...values: unknown[]) => {
          const target = partOf(nextView(`${family}.${name}`, values));
          return (target as Record<string, Method>)[name]?.apply(target, values);
        };
      }
    }
    return made as P;
  };
  const made = {
    ...writing("store", withoutParts(store), STORE_METHODS, (view) => view),
    session: (sessionId: string) =>
      writing("session", store.session(sessionId), SESSION_METHODS, (view) => view.session(sessionId)),
    forUser: (userId: string) => store.forUser(userId).once?.(operation) ?? store.forUser(userId),
  };
  return withParts<typeof made, Pick<Store, Parts>>(made, {
    sessions: () => writing("sessions", store.sessions, PART_METHODS.sessions, (view) => view.sessions),
    blocks: () => writing("blocks", store.blocks, PART_METHODS.blocks, (view) => view.blocks),
    entries: () => writing("entries", store.entries, PART_METHODS.entries, (view) => view.entries),
    records: () => writing("records", store.records, PART_METHODS.records, (view) => view.records),
  });
}

const writesOf = perObject((rows: Rows) => Object.keys(rows).filter((name) => rows[name]?.isOnce));

// They are made when they are asked for, and an operation of one call asks for one of them.
function withoutParts(store: Store): Omit<Store, Parts> {
  const names = Object.keys(store).filter((name) => !PARTS.has(name)) as (keyof Store)[];
  return Object.fromEntries(names.map((name) => [name, store[name]])) as unknown as Omit<Store, Parts>;
}

/** Begins the keys of an operation's rows. */
function rowsOf(id: string, userId?: string): string {
  return `${sha256(id)}/${userId === undefined ? NOBODY : sha256(userId)}`;
}

// What cannot be written as data is refused by the method.
function digestOf(values: readonly unknown[]): string {
  try {
    return sha256(stringifyTagged(values));
  } catch {
    return "";
  }
}
