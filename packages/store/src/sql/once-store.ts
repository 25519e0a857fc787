import { check, defineOptions, perObject, sha256, stringifyTagged, withParts } from "@stemma/model";
import { type MethodRow, PART_METHODS, SESSION_METHODS, STORE_METHODS } from "../contract/methods.js";
import type { OnceOperation, OnceTogether, SessionStore, Store } from "../contract/store.js";
import { fingerprintIn, LEDGER, namesIn } from "../operations/registry/ledger.js";

type Method = (...values: unknown[]) => unknown;
/** They are made when they are first asked for: a store that does one call once is made for that call. */
export type StoreParts = Pick<Store, "sessions" | "blocks" | "entries" | "records">;
type Rows = Readonly<Record<string, MethodRow>>;
const NOBODY = sha256("");

const ONCE = defineOptions<OnceOperation>({
  id: check.required(check.text),
  fingerprint: check.text,
  together: check.rule("a write of a group", ({ group }) => typeof group?.add === "function"),
});

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

/** The numbers of an id's writes to a session that were done together within a day. Of a store of everybody's. */
export async function numbersDone(
  store: Store,
  id: string,
  sessionId: string,
  userId: string | undefined,
): Promise<ReadonlySet<number>> {
  const done = await store.records.get(LEDGER, keyTogether(id, sessionId, userId));
  return new Set(done === null ? [] : namesIn(done.value).map(Number));
}

/** Where the ledger has what was done once. */
export interface LedgerPlace {
  readonly key: string;
  readonly fingerprint: string;
}

interface Views {
  /** A store whose next call is done once, under a place of its own. */
  viewOf(place: LedgerPlace): Store;
  /** A session whose next call is done once, with others that are done together. */
  sessionOf(sessionId: string, fingerprint: string, together: OnceTogether): SessionStore;
}

/** `Store.once` of a store; `whole` are its methods. */
export function onceStore(
  store: Store,
  whole: Omit<Store, keyof StoreParts>,
  operation: OnceOperation,
  { viewOf, sessionOf }: Views,
): Store {
  ONCE.assert(operation, "once()");
  const { id, fingerprint, together } = operation;
  let named: string | undefined;
  // Of another name, a call may be left out when the operation is asked for again: what it makes is there.
  const counts = new Map<string, number>();
  const nextView = (name: string, values: readonly unknown[]): Store => {
    const count = counts.get(name) ?? 0;
    counts.set(name, count + 1);
    named ??= rowsOf(id, store.userId);
    return viewOf({ key: `${named}/${name}/${count}`, fingerprint: fingerprint ?? digestOf(values) });
  };
  const writing = <P extends object>(
    part: P,
    rows: Rows,
    targetOf: (name: string, values: readonly unknown[]) => object,
  ): P => {
    const made = { ...part } as Record<string, unknown>;
    for (const name of writesOf(rows)) {
      if (name in part) {
        made[name] = (...values: unknown[]) => {
          const target = targetOf(name, values);
          return (target as Record<string, Method>)[name]?.apply(target, values);
        };
      }
    }
    return made as P;
  };
  const inView = (family: string, partOf: (view: Store) => object) => (name: string, values: readonly unknown[]) =>
    partOf(nextView(`${family}.${name}`, values));
  const inSession = (sessionId: string) => {
    if (together === undefined) return inView("session", (view) => view.session(sessionId));
    return () => sessionOf(sessionId, fingerprint ?? "", together);
  };
  const methods = writing(
    whole,
    STORE_METHODS,
    inView("store", (view) => view),
  );
  const part = <Name extends keyof StoreParts>(name: Name) =>
    writing(
      store[name],
      PART_METHODS[name],
      inView(name, (view) => view[name]),
    );
  return withParts<Omit<Store, keyof StoreParts>, StoreParts>(
    {
      ...methods,
      session: (sessionId: string) => writing(store.session(sessionId), SESSION_METHODS, inSession(sessionId)),
      forUser: (userId: string) => store.forUser(userId).once?.(operation) ?? store.forUser(userId),
    },
    {
      sessions: () => part("sessions"),
      blocks: () => part("blocks"),
      entries: () => part("entries"),
      records: () => part("records"),
    },
  );
}

const writesOf = perObject((rows: Rows) => Object.keys(rows).filter((name) => rows[name]?.isOnce));

/** The key of the row of writes to a session that are done together. */
export function keyTogether(id: string, sessionId: string, userId: string | undefined): string {
  return `${rowsOf(id, userId)}/${sha256(sessionId)}`;
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
