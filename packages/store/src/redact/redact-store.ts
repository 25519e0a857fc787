import { assertArgument, check, reasonOf } from "@stemma/model";
import { consolidate } from "../consolidation/consolidate.js";
import type { Observed, Observer, RedactFunction, Redaction, RedactWhere, Store } from "../contract/store.js";
import { checkedEntries } from "../sql/entry-arguments.js";
import { assertStore, wrapMade } from "../sql/store-of.js";
import { BLOCKS, ENTRIES, RECORDS, SESSION, SESSIONS, STORE, VECTORS } from "./methods.js";
import { redactionOf } from "./redaction.js";

type Method = (...values: unknown[]) => unknown;
/** The rules of a part of the contract, whichever it is. */
type AnyRules = Readonly<Record<string, ((redaction: Redaction, id: string, ...values: never[]) => unknown[]) | null>>;

/**
 * Makes a store that calls `redact` on each text before it is stored, indexed, embedded or told to anyone. Use the result in
 * place of the store. It works for every store, also one of your own, and for what `withEmbedder` and `forUser` give. Errors:
 * `STORE_UNSUPPORTED` for what is no store, `INVALID_ARGUMENT`; of its calls `REDACTION_FAILED` for what `redact` threw, and
 * where it gave no text.
 */
export function redactStore<S extends Store>(store: S, redact: RedactFunction): S {
  assertStore(store, "redactStore()");
  assertArgument(check.callable, redact, "The redact of redactStore()");
  return redacting(store, redactionOf(redact, store.redaction));
}

/** For a constructor: the store as it is where no `redact` was given. */
export function redactedWith<S extends Store>(store: S, redact: RedactFunction | undefined): S {
  return redact === undefined ? store : redacting(store, redactionOf(redact));
}

function redacting<S extends Store>(store: S, redaction: Redaction, whole?: Store): S {
  const part = <T extends object>(methods: T, rules: AnyRules, id = ""): T => withRules(methods, rules, redaction, id);
  const { sessions, blocks, entries, records, vectors } = store;
  const above = whole ?? (store.whole && redacting(store.whole, redaction));
  const redacted: S = {
    ...part(store, STORE),
    // Of a class these may be getters, which a copy leaves out.
    name: store.name,
    capabilities: store.capabilities,
    userId: store.userId,
    order: store.order,
    observer: store.observer && redactedObserver(store.observer, redaction),
    redaction,
    // Its writes go through this store.
    consolidate,
    whole: above,
    session: (id: string) => {
      const session = store.session(id);
      return { ...part(session, SESSION, id), id: session.id };
    },
    sessions: part(sessions, SESSIONS),
    blocks: part(blocks, BLOCKS),
    entries: checkedEntries(part(entries, ENTRIES)),
    records: part(records, RECORDS),
    ...(vectors === undefined ? {} : { vectors: part(vectors, VECTORS) }),
    forUser: (userId: string) => redacting(store.forUser(userId), redaction, above ?? redacted),
    ...wrapMade(store, (made) => redacting(made, redaction)),
  };
  return redacted;
}

// Nothing is awaited before the store's own method is called: calls of one turn keep their order.
function withRules<T extends object>(methods: T, rules: AnyRules, redaction: Redaction, id: string): T {
  const own: Record<string, unknown> = {};
  for (const [name, rule] of Object.entries(rules)) {
    const method = (methods as Record<string, unknown>)[name] as Method | undefined;
    if (typeof method !== "function") continue;
    own[name] = (...values: unknown[]) => {
      if (rule === null) return method.apply(methods, values);
      let redacted: unknown[];
      try {
        redacted = rule(redaction, id, ...(values as never[]));
      } catch (error) {
        return Promise.reject(error);
      }
      return method.apply(methods, redacted);
    };
  }
  return { ...methods, ...own };
}

const FAILED = "[REDACTION_FAILED]";

/** Makes an observer that passes on texts as `redaction` leaves them. The work is not changed by it. */
export function redactedObserver(observer: Observer, redaction: Redaction): Observer {
  return <T>(told: Observed, work: (within: <P>(part: () => P) => P) => T): T => {
    const where: RedactWhere = { kind: "telemetry", sessionId: told.sessionId ?? null };
    const shown = <V>(value: V): V => {
      try {
        return redaction.json(value, where);
      } catch {
        return FAILED as V;
      }
    };
    // An error of the same kind, which says the redacted reason.
    const shownError = (error: unknown): unknown => {
      const reason = shown(reasonOf(error));
      return error instanceof Error ? Object.create(error, { message: { value: reason } }) : reason;
    };
    const showsResult = told.type === "tool" || told.type === "compaction";
    const seen: Observed = {
      ...told,
      // Made only for an observer that looks at them.
      get values() {
        return told.values?.map(shown);
      },
    };
    let outcome: { readonly result: T } | { readonly error: unknown } | undefined;
    try {
      const observed: unknown = observer<unknown>(seen, (within) => {
        try {
          const result = work(within);
          outcome = { result };
          if (result instanceof Promise) {
            return result.then(
              (value) => (showsResult ? shown(value) : value),
              (error) => Promise.reject(shownError(error)),
            );
          }
          return showsResult ? shown(result) : result;
        } catch (error) {
          outcome = { error };
          throw shownError(error);
        }
      });
      // Whoever called hears of it by the work's own promise.
      if (observed instanceof Promise) observed.catch(() => {});
    } catch (error) {
      outcome ??= { error };
    }
    if (outcome === undefined || "error" in outcome) throw outcome?.error;
    return outcome.result;
  };
}
