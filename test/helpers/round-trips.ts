import {
  type MethodRow,
  type Named,
  PART_METHODS,
  type PartMethods,
  SESSION_METHODS,
  STORE_METHODS,
} from "../../packages/store/src/contract/methods.js";
import type { Store } from "../../packages/store/src/contract/store.js";
import { valuesIn } from "../../packages/store/src/sql/list-all.js";
import { wrapMade } from "../../packages/store/src/sql/store-of.js";

type Method = (...values: unknown[]) => unknown;

interface Call {
  readonly name: string;
  /** What it names: no two requests in flight name the same. */
  readonly keys: readonly string[];
  /** Carries it out, and gives what tells the caller. */
  make(): Promise<() => void>;
}

/** Turns of the event loop in which nothing new is asked, after which all that is under way is answered. */
const IDLE_TURNS = 25;

/**
 * Counts the round trips of a program to a store that is elsewhere: calls of one turn of microtasks share a request, and while a
 * request with a session is under way, later calls of that session wait for its answer and share the next one. All requests that are
 * under way are answered together once nothing more is asked, so `trips` is how often the program waits, whatever the machine's speed.
 */
export class RoundTrips {
  /** How often answers came. */
  trips = 0;
  /** The requests that were sent, each by the names of its calls. */
  requests: string[][] = [];
  #waiting: Call[] = [];
  #underWay: (readonly Call[])[] = [];
  #isFlushing = false;
  #isAnswering = false;

  /** @param trip How long each takes, in milliseconds. */
  constructor(private readonly trip = 0) {}

  /** Gives a store whose calls are counted here. */
  to(store: Store, whole?: Store): Store {
    const { name, capabilities, userId, order, observer, redaction } = store;
    const parts = Object.entries(PART_METHODS).flatMap(([part, rows]) => {
      const methods = store[part as keyof PartMethods];
      return methods === undefined ? [] : [[part, this.#part(`${part}.`, methods, rows)] as const];
    });
    const counted: Store = {
      ...this.#part("", store, STORE_METHODS),
      ...(Object.fromEntries(parts) as unknown as Pick<Store, keyof PartMethods>),
      consolidate: (options) => store.consolidate(options),
      ...{ name, capabilities, userId, order, observer, redaction, whole },
      session: (id) => ({ ...this.#part("session.", store.session(id), SESSION_METHODS, id), id }),
      forUser: (user) => this.to(store.forUser(user), whole ?? counted),
      ...wrapMade(store, (made) => this.to(made)),
    };
    return counted;
  }

  /** Gives a network to a server, whose requests are counted here. */
  network(serve: (request: Request) => Promise<Response>): (request: Request) => Promise<Response> {
    return (request) => this.#ask(request.url, [], () => serve(request)) as Promise<Response>;
  }

  /** Counts the trips and the requests of `work`, from none. */
  async during(work: () => Promise<unknown>): Promise<{ trips: number; requests: string[][] }> {
    const [tripsBefore, requestsBefore] = [this.trips, this.requests.length];
    await work();
    return { trips: this.trips - tripsBefore, requests: this.requests.slice(requestsBefore) };
  }

  #part<P extends object>(prefix: string, part: P, rows: Readonly<Record<string, MethodRow>>, session?: string): P {
    const wrapped: Record<string, Method> = {};
    for (const [name, row] of Object.entries(rows)) {
      const method = (part as Record<string, unknown>)[name] as Method | undefined;
      if (typeof method !== "function") continue;
      wrapped[name] = (...values) => {
        const named = [...(session === undefined ? [] : [{ session }]), ...row.names(values)];
        const answer = this.#ask(prefix + name, named.map(keyOf), async () => method.apply(part, values));
        return row.isStream ? valuesIn(answer as Promise<AsyncIterable<unknown>>) : answer;
      };
    }
    return wrapped as P;
  }

  #ask(name: string, keys: readonly string[], work: () => Promise<unknown>): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const make = () =>
        work().then(
          (value) => () => resolve(value),
          (error) => () => reject(error),
        );
      this.#waiting.push({ name, keys, make });
      this.#flushSoon();
    });
  }

  #flushSoon(): void {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    queueMicrotask(() => {
      this.#isFlushing = false;
      this.#flush();
    });
  }

  #flush(): void {
    const held = new Set(this.#underWay.flat().flatMap(({ keys }) => keys));
    const sent: Call[] = [];
    const left: Call[] = [];
    for (const call of this.#waiting) {
      if (!call.keys.some((key) => held.has(key))) sent.push(call);
      else {
        // Nothing overtakes what waits.
        for (const key of call.keys) held.add(key);
        left.push(call);
      }
    }
    this.#waiting = left;
    if (sent.length === 0) return;
    this.#underWay.push(sent);
    this.requests.push(sent.map(({ name }) => name));
    if (!this.#isAnswering) void this.#answer();
  }

  async #answer(): Promise<void> {
    this.#isAnswering = true;
    for (let known = -1, turns = 0; turns < IDLE_TURNS; turns += 1) {
      if (this.requests.length !== known) turns = 0;
      known = this.requests.length;
      await new Promise((resolve) => setImmediate(resolve));
    }
    if (this.trip > 0) await new Promise((resolve) => setTimeout(resolve, this.trip));
    this.trips += 1;
    const answered = this.#underWay;
    const told = await Promise.all(answered.flat().map((call) => call.make()));
    this.#underWay = [];
    this.#isAnswering = false;
    for (const tell of told) tell();
    this.#flushSoon();
  }
}

// Of what is not a session's, each scope is one.
function keyOf(named: Named): string {
  if ("session" in named) return `session ${named.session}`;
  if ("records" in named) return `session ${named.records}`;
  const { sessionId, scope = "session" } = named.memory;
  return scope === "session" ? `session ${sessionId}` : `scope ${JSON.stringify(scope)}`;
}
