import { invalid, StemmaError } from "@stemma/model";
import {
  type MethodRow,
  PART_METHODS,
  type RemoteCall,
  type RemoteRequest,
  SESSION_METHODS,
  STORE_METHODS,
  type Store,
  WriteGroup,
} from "@stemma/store";

type Rows = Readonly<Record<string, MethodRow>>;
type Methods = Readonly<Record<string, (...values: unknown[]) => unknown>>;

const ROWS: Readonly<Record<string, Rows>> = {
  session: SESSION_METHODS,
  // It is made of other calls, and how many there are depends on what is stored: it cannot be asked for again.
  store: { ...STORE_METHODS, consolidate: { mode: "write", names: () => [] } },
  ...PART_METHODS,
};

/** Answers for a store without the method. */
const INSTEAD: Readonly<Record<string, () => unknown>> = {
  "records.now": () => Date.now(),
  // Nobody knows what is left in its files.
  "store.scrub": () => "unknown",
};

/** The server's files and its end are out of every client's reach. */
const OF_THE_SERVER: ReadonlySet<string> = new Set(["store.backup", "store.close"]);

/** A digest tells nothing that the id of a client's own call does not. */
const FINGERPRINT = "call";

interface CallOperation {
  readonly id: string;
  readonly userId: string | undefined;
  readonly session?: string | undefined;
}

/** The calls of a request, on the store that its principal reaches. */
export class StoreCalls {
  /** The store of each user whom a call names. */
  readonly #users = new Map<string, Store>();
  /** The writes to sessions that were made last, with no other call between them. */
  #group = new WriteGroup();

  constructor(
    private readonly store: Store,
    private readonly request: Omit<RemoteRequest, "calls">,
  ) {}

  /**
   * Makes a call, at once; one that writes to a session, with those that come right behind it. What writes is done once: whoever sends
   * it again is given what came of it. Errors: those of the call; `STORE_UNSUPPORTED` for what the store lacks; `CONNECTION_LOST` for a write that comes again, of a
   * store that cannot know whether it was done.
   */
  async make(call: RemoteCall): Promise<unknown> {
    const make = () => this.#made(this.#storeOf(call), call);
    if (this.#batchOf(call) !== undefined) return this.#group.calling(call.n, make);
    this.end();
    return make();
  }

  /** All calls are made. */
  end(): void {
    this.#group.end();
    this.#group = new WriteGroup();
  }

  /** The operation that a call which writes is done as, if it comes again; null for one that cannot be told. `session` is set for one of a batch. */
  operationOf(call: RemoteCall): CallOperation | null {
    if (call.once === undefined && rowOf(call).isOnce !== true) return null;
    const { userId } = this.#ofUser(call);
    const batch = this.#batchOf(call);
    return batch === undefined
      ? { id: call.once?.id ?? this.#idOf(call.n), userId }
      : { id: this.#idOf(batch), userId, session: call.session };
  }

  /** Begins to read a stream. Errors: those of the call, of the stream. */
  stream(call: RemoteCall): AsyncIterable<unknown> {
    return this.#made(this.#ofUser(call), call) as AsyncIterable<unknown>;
  }

  /** The leaf of the path that a stream of a session reads, where it names none; undefined for any other stream. */
  async leafOf(call: RemoteCall): Promise<string | undefined> {
    if (call.call !== "session.stream" || call.session === undefined) return undefined;
    const { leafId } = (call.values[0] ?? {}) as { readonly leafId?: string };
    if (leafId !== undefined) return leafId;
    // What cannot be read is told by the stream.
    const leaf = await this.#ofUser(call)
      .session(call.session)
      .leaf()
      .catch(() => null);
    return leaf?.id;
  }

  #made(store: Store, call: RemoteCall): unknown {
    const [part, name] = namesOf(call);
    const target = (part === "store"
      ? store
      : part === "session"
        ? store.session(call.session as string)
        : store[part as "blocks"]) as unknown as Methods | undefined;
    const method = target?.[name];
    if (method === undefined && Object.hasOwn(INSTEAD, call.call)) return INSTEAD[call.call]?.();
    if (method === undefined || OF_THE_SERVER.has(call.call)) throw unsupported(`${call.call}()`);
    return method.apply(target, [...call.values]);
  }

  #storeOf(call: RemoteCall): Store {
    const store = this.#ofUser(call);
    const { mode, isOnce } = rowOf(call);
    if (mode !== "write" && !isOnce) return store;
    if (call.once !== undefined) {
      const once = store.once?.(call.once);
      if (once === undefined) throw unsupported("once()");
      return once;
    }
    const batch = this.#batchOf(call);
    const together = batch === undefined ? undefined : { id: this.#idOf(batch), number: call.n, group: this.#group };
    const once = isOnce ? store.once?.({ id: this.#idOf(call.n), fingerprint: FINGERPRINT, together }) : undefined;
    if (once === undefined && this.request.again === true) {
      throw new StemmaError("CONNECTION_LOST", {}, "No answer came. The write may have been stored or not.");
    }
    return once ?? store;
  }

  /** The batch with which a call that writes to a session is done; undefined for any other call. */
  #batchOf(call: RemoteCall): number | undefined {
    const isOfSession = namesOf(call)[0] === "session" && rowOf(call).isOnce === true;
    return isOfSession && call.once === undefined ? this.request.batch : undefined;
  }

  #idOf(number: number): string {
    return `${this.request.client}/${number}`;
  }

  #ofUser({ user }: RemoteCall): Store {
    if (user === undefined) return this.store;
    const store = this.#users.get(user) ?? this.store.forUser(user);
    this.#users.set(user, store);
    return store;
  }
}

/** The method of a call. Errors: `INVALID_ARGUMENT` for none of a store. */
export function rowOf(call: RemoteCall): MethodRow {
  const [part, name] = namesOf(call);
  const rows = Object.hasOwn(ROWS, part) ? (ROWS[part] as Rows) : {};
  const row = Object.hasOwn(rows, name) ? rows[name] : undefined;
  if (row === undefined) throw invalid("This server knows no call of that name.");
  return row;
}

function namesOf({ call }: RemoteCall): readonly [part: string, method: string] {
  const [part = "", method = ""] = call.split(".");
  return [part, method];
}

function unsupported(what: string): StemmaError {
  return new StemmaError("STORE_UNSUPPORTED", {}, `The server's store has no ${what}.`);
}
