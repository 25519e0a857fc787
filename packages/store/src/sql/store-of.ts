import { kindOf, perObject, type Queue, queueOf, quote, StemmaError } from "@stemma/model";
import type { Store } from "../contract/store.js";
import { hostStore, isSqlHost, type SqlHost } from "../sqlite/host-sql.js";

/** True for a store: one of ours, or one that a user wrote to the same contract. */
export function isStore(value: unknown): value is Store {
  if (typeof value !== "object" || value === null) return false;
  return ["session", "sessions", "blocks", "entries", "records", "search"].every((name) => name in value);
}

/** Throws `STORE_UNSUPPORTED` for what is no store. `what` begins the sentence that says so. */
export function assertStore(value: unknown, what: string): asserts value is Store {
  if (isStore(value)) return;
  const message = `${what} needs a store: sqlite("chat.db"), postgres(url), memory(), …; got ${kindOfHost(value)}.`;
  throw new StemmaError("STORE_UNSUPPORTED", {}, message);
}

/** Names the kind of a value for an error that got it instead of another object of ours. */
export function kindOfHost(value: unknown): string {
  if (isStore(value)) return "a store";
  const has = (name: string) => typeof (value as Record<string, unknown> | null | undefined)?.[name] === "function";
  return has("prepareTurn") ? "a session" : has("getSession") ? "a SessionManager" : kindOf(value);
}

/** The queue that puts calls which belong together in order: one for stores on one client, and for the parts of one store. */
export function orderOf(store: Store): Queue {
  return store.order ?? queueOf(store.whole ?? store);
}

/** The methods by which a store makes another one on its database, each wrapping what it gives: for who wraps the store. */
export function wrapMade(store: Store, wrap: (made: Store) => Store): Record<string, (...values: unknown[]) => Store> {
  const wrapped: Record<string, (...values: unknown[]) => Store> = {};
  for (const name of ["withEmbedder", "withReranker", "once"] as const) {
    const make = (store as Partial<Record<typeof name, (...values: unknown[]) => Store>>)[name];
    if (make !== undefined) wrapped[name] = (...values) => wrap(make(...values));
  }
  return wrapped;
}

const storeOfAgent = perObject((host: SqlHost) => hostStore(host));

/**
 * The store behind an object that the documents call an agent: a store is its own, an object with a `sql` tagged
 * template (a Cloudflare `Agent`) gets one on that, the same each time. Errors: `STORE_UNSUPPORTED`.
 */
export function storeOf(host: unknown): Store {
  if (isStore(host)) return host;
  if (isSqlHost(host)) return storeOfAgent(host);
  throw new StemmaError("STORE_UNSUPPORTED", {}, whatIsNeeded(host));
}

function whatIsNeeded(host: unknown): string {
  if (host instanceof Promise) return `A store is needed; got ${kindOf(host)}.`;
  if (typeof host === "string") {
    const store = /^postgres(?:ql)?:/.test(host) ? "postgres" : "sqlite";
    return `A text is no store: import { ${store} } from "stemma/${store}" and pass ${store}(${quote(host)}).`;
  }
  if (isDurableObject(host)) {
    return 'A Durable Object without a sql tagged template needs a store: import { durableObject } from "stemma/durable-object" and pass durableObject(ctx).';
  }
  return "This is neither a store (sqlite(path), memory(), …) nor an object with a sql tagged template. See the README for the stores.";
}

// The object itself, or its ctx.
function isDurableObject(host: unknown): boolean {
  const { ctx, storage } = (host ?? {}) as { ctx?: { storage?: unknown }; storage?: { sql?: unknown } };
  return typeof ctx?.storage === "object" || typeof storage?.sql === "object";
}
