import { check, defineOptions, sha256, stringifyTagged } from "@stemma/model";
import { type MethodRow, PART_METHODS, SESSION_METHODS, STORE_METHODS } from "../contract/methods.js";
import type { OnceOperation, OnceTogether, SessionStore, Store } from "../contract/store.js";
import { LEDGER, type LedgerPlace, rowIn } from "../operations/registry/ledger.js";

type Method = (...values: unknown[]) => unknown;
/** They are made when they are first asked for. */
export type StoreParts = Pick<Store, "sessions" | "blocks" | "entries" | "records">;
type Rows = Readonly<Record<string, MethodRow>>;

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
  const key = sha256(id);
  const row = await rowAt(store, key);
  if (row === null || call === undefined) return row?.fingerprint ?? null;
  const name = `${nameOf(call)}/0/0`;
  return row.names.includes(name) ? row.fingerprint : ((await rowAt(store, `${key}/${name}`))?.fingerprint ?? null);
}

/** The numbers of an id's writes to a session that were done together within a day. Of a store of everybody's. */
export async function numbersDone(
  store: Store,
  id: string,
  sessionId: string,
  userId: string | undefined,
): Promise<ReadonlySet<number>> {
  const row = await rowAt(store, keyTogether(id, sessionId, userId));
  return new Set(row?.names.map(Number));
}

async function rowAt(store: Store, key: string): Promise<ReturnType<typeof rowIn> | null> {
  const record = await store.records.get(LEDGER, key);
  return record === null ? null : rowIn(record.value);
}

interface Views {
  /** A store whose next call is done once, under a place of its own. */
  viewOf(place: LedgerPlace): Store;
  /** As `viewOf`, a session of the store. */
  sessionOf(place: LedgerPlace, sessionId: string): SessionStore;
  /** A session whose next call is done once, with others that are done together. */
  togetherWith(together: OnceTogether, sessionId: string, fingerprint: string): SessionStore;
}

/** `Store.once` of a store; `whole` are its methods. */
export function onceStore(
  store: Store,
  whole: Omit<Store, keyof StoreParts>,
  operation: OnceOperation,
  { viewOf, sessionOf, togetherWith }: Views,
): Store {
  ONCE.assert(operation, "once()");
  const { id, fingerprint, together } = operation;
  const key = sha256(id);
  // Of another name, a call may be left out when the operation is asked for again: what it makes is there.
  const counts = new Map<string, number>();
  const nextPlace = (name: string, values: readonly unknown[]): LedgerPlace => {
    const isFirst = counts.size === 0;
    const count = counts.get(name) ?? 0;
    counts.set(name, count + 1);
    return {
      operation: key,
      name: `${nameOf({ name, userId: store.userId })}/${count}`,
      fingerprint: fingerprint ?? digestOf(values),
      isOfAll: fingerprint !== undefined,
      isFirst,
    };
  };
  // What is never called is not made: a store that does one call once is made for that call.
  const writing = <P extends object>(
    part: P,
    rows: Rows,
    targetOf: (name: string, values: readonly unknown[]) => object,
  ): P =>
    new Proxy(part, {
      get(_, name: string) {
        const method = Reflect.get(part, name);
        if (method === undefined || rows[name]?.isOnce !== true) return method;
        return (...values: unknown[]) => {
          const target = targetOf(name, values);
          return (target as Record<string, Method>)[name]?.apply(target, values);
        };
      },
    });
  const inView = (family: string, partOf: (view: Store) => object) => (name: string, values: readonly unknown[]) =>
    partOf(viewOf(nextPlace(`${family}.${name}`, values)));
  const inSession = (sessionId: string) => (name: string, values: readonly unknown[]) =>
    together === undefined
      ? sessionOf(nextPlace(`session.${name}`, values), sessionId)
      : togetherWith(together, sessionId, fingerprint ?? "");
  const part = <Name extends keyof StoreParts>(name: Name) =>
    writing(
      store[name],
      PART_METHODS[name],
      inView(name, (view) => view[name]),
    );
  const made = {
    ...whole,
    session: (sessionId: string) => writing(store.session(sessionId), SESSION_METHODS, inSession(sessionId)),
    forUser: (userId: string) => store.forUser(userId).once?.(operation) ?? store.forUser(userId),
    sessions: part("sessions"),
    blocks: part("blocks"),
    entries: part("entries"),
    records: part("records"),
  };
  return writing(
    made,
    STORE_METHODS,
    inView("store", (view) => view),
  );
}

/** The key of the row of writes to a session that are done together. */
export function keyTogether(id: string, sessionId: string, userId: string | undefined): string {
  return `${sha256(id)}/${nameOf({ name: sha256(sessionId), userId })}`;
}

/** Of one name, each user's store has a call. */
function nameOf({ name, userId }: OnceCall): string {
  return `${userId === undefined ? "" : sha256(userId)}/${name}`;
}

// What cannot be written as data is refused by the method.
function digestOf(values: readonly unknown[]): string {
  try {
    return sha256(stringifyTagged(values));
  } catch {
    return "";
  }
}
