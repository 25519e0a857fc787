import { invalid, MOST_QUERY, NAME_LIMITS, StemmaError, unlessAborted } from "@stemma/model";
import {
  type ConsolidateOptions,
  type MethodRow,
  type OnceOperation,
  PART_METHODS,
  SESSION_METHODS,
  STORE_METHODS,
  type Store,
  type StoreCapabilities,
} from "@stemma/store";
import type { StemmaClientOptions } from "../client-options.js";
import { Sender } from "../sender.js";
import { locksOf } from "./lanes.js";
import { type Asked, RemoteCalls } from "./remote-calls.js";

const RETRIES = 10;
const FIRST_PAUSE = 50;

export interface RemoteOptions extends Omit<StemmaClientOptions, "maxRetries"> {
  /** How often a request that failed is sent again, at growing intervals of up to 8 seconds. Default 10. */
  readonly maxRetries?: number | undefined;
  /** Says where the server's store cannot do all that a database can. Default: it can do all but `embeddings`. */
  readonly capabilities?: Partial<StoreCapabilities> | undefined;
}

// Only a store that has the rows makes lines of them.
const { lines: _, ...SESSION } = SESSION_METHODS;

const LIKE_A_DATABASE: StoreCapabilities = {
  search: true,
  transactions: true,
  durable: true,
  check: true,
  embeddings: false,
};

/** Whose calls are made. */
interface Calling {
  readonly userId?: string | undefined;
  readonly once?: NumberedOnce | undefined;
}

/** Numbers the calls of each method of an operation: those of one number are the same call. */
class NumberedOnce {
  readonly #counts = new Map<string, number>();

  constructor(private readonly operation: OnceOperation) {
    assertText(operation?.id, "The id of an operation");
  }

  next(call: string): Asked["once"] {
    const { together: _here, ...operation } = this.operation;
    const count = this.#counts.get(call) ?? 0;
    this.#counts.set(call, count + 1);
    return { ...operation, id: `${operation.id}/${call}/${count}` };
  }
}

/**
 * A store behind a server of Stemma: `stemma serve`, or `createServer`. It does what a store does, for browsers, edges and programs
 * that have a key instead of a database. Calls of one session take effect in their order, and those that wait share a request; a
 * request whose answer is lost is sent again, and writes take effect once. Closing it closes nothing at the server.
 * Errors of its calls: those of the server's store; `FORBIDDEN` for what the key may not; `CONNECTION_LOST` where no answer came.
 * Errors: `INVALID_ARGUMENT` for wrong options.
 * @example
 * import { Session } from "stemma";
 * import { remote } from "stemma/remote";
 *
 * const store = remote({ baseUrl: "https://memory.example.com", apiKey: "stm_…" });
 * const session = Session.create(store).forSession("trip");
 */
export function remote({ capabilities, ...options }: RemoteOptions = {}): Store {
  const calls = new RemoteCalls(new Sender(options, "remote()", RETRIES, FIRST_PAUSE));
  const able: StoreCapabilities = { ...LIKE_A_DATABASE, ...capabilities, embeddings: false };
  const unknown = Object.keys(capabilities ?? {}).find((name) => !(name in LIKE_A_DATABASE));
  if (unknown !== undefined) throw invalid(`A store has no capability "${unknown}".`);
  const storeOf = (calling: Calling, whole?: Store): Store => {
    const part = (name: string, rows: Readonly<Record<string, MethodRow>>, session?: string) =>
      Object.fromEntries(
        Object.entries(rows).map(([method, row]) => [
          method,
          methodOf(calls, calling, `${name}.${method}`, row, session),
        ]),
      );
    const { userId } = calling;
    const { check, scrub, ...methods } = part("store", STORE_METHODS);
    const store: Store = {
      ...methods,
      ...(able.check && userId === undefined && { check, scrub }),
      name: "remote",
      capabilities: { ...able, check: able.check && userId === undefined },
      userId,
      whole,
      session: (id: string) => ({ ...part("session", SESSION, assertText(id, "A session id")), id }),
      sessions: part("sessions", PART_METHODS.sessions),
      blocks: part("blocks", PART_METHODS.blocks),
      entries: part("entries", PART_METHODS.entries),
      records: part("records", PART_METHODS.records),
      consolidate: async (given: ConsolidateOptions = {}) => {
        if (given.extract === undefined && calling.once === undefined)
          return calls.call({ call: "store.consolidate", user: userId, values: [given] }, []);
        const message = "Use consolidate.call(store, options), with consolidate of stemma.";
        throw new StemmaError("STORE_UNSUPPORTED", {}, message);
      },
      forUser: (user: string) => {
        if (assertText(user, "A user id") === "" || user.length > NAME_LIMITS.owner)
          throw invalid("A user id is empty or too long.");
        if (userId !== undefined && user !== userId) {
          throw new StemmaError("SESSION_OWNED", {}, "This store is confined to one user.");
        }
        return storeOf({ ...calling, userId: user }, whole ?? store);
      },
      ...(able.transactions && {
        once: (operation: OnceOperation) => storeOf({ userId, once: new NumberedOnce(operation) }, whole),
      }),
      close: () => calls.close(),
    } as unknown as Store;
    return store;
  };
  return storeOf({});
}

function methodOf(calls: RemoteCalls, calling: Calling, call: string, row: MethodRow, session?: string) {
  const asked = (given: readonly unknown[]): Asked => ({
    call,
    session,
    user: calling.userId,
    values: given,
    once: row.isOnce ? calling.once?.next(call) : undefined,
  });
  const locks = (given: readonly unknown[]) => locksOf(row, session, calling.userId, given);
  if (row.isStream) return (...given: unknown[]) => calls.stream(asked(given), locks(given));
  return (...given: unknown[]) => {
    const { values, signal } = withoutSignal(call.endsWith("search") ? given.map(cut) : given);
    const made = calls.call(asked(values), locks(values));
    // Of more than ten that wait for one signal Node warns: each has one of its own.
    return signal === undefined ? made : unlessAborted(made, AbortSignal.any([signal]));
  };
}

/** A query that is longer than what is searched for does not travel. */
const cut = (value: unknown) => (typeof value === "string" ? value.slice(0, MOST_QUERY) : value);

/** The signal of a search is for this process, and is no data. */
function withoutSignal(given: readonly unknown[]): { values: readonly unknown[]; signal?: AbortSignal } {
  const at = given.findIndex(
    (value) => (value as { signal?: unknown } | null | undefined)?.signal instanceof AbortSignal,
  );
  if (at < 0) return { values: given };
  const { signal, ...rest } = given[at] as { signal: AbortSignal };
  return { values: given.with(at, rest), signal };
}

// The rest of what an id must be, the server says.
function assertText(value: unknown, what: string): string {
  if (typeof value === "string") return value;
  throw invalid(`${what} must be a text.`);
}
