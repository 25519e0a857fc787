import type { BlockScope, Store } from "../../../storage/contract.js";
import { keyScope, userScope } from "../../../storage/session-id.js";
import type { HeldSessions } from "./held-sessions.js";
import type { KnownKeys } from "./session-snapshot.js";

interface Kept {
  readonly sessionId: string;
  readonly scope?: BlockScope | undefined;
}

/** Where blocks and entries are kept: with their session, or in a state of their own for a user or a key. */
export class Places {
  constructor(
    private readonly held: HeldSessions,
    private readonly inner: Store,
    private readonly userId: string | undefined,
  ) {}

  /** Runs a call that reads what is kept under `key`, with all in memory that it needs. */
  async read<T>(key: Kept, call: (keys: KnownKeys) => Promise<T>): Promise<T> {
    const { held } = this;
    if (isOwn(key)) return held.read(key.sessionId, () => call(held.keys(key.sessionId)));
    const place = await this.#placeOf(key);
    return held.write([], () => call(held.keys(place)), [place, ...sessionOf(key)]);
  }

  /** The same for one that writes. */
  async write<T>(key: Kept, call: (keys: KnownKeys) => Promise<T>): Promise<T> {
    const { held } = this;
    if (isOwn(key)) return held.write([key.sessionId], () => call(held.keys(key.sessionId)));
    const place = await this.#placeOf(key);
    return held.write([place], () => call(held.keys(place)), sessionOf(key));
  }

  /** The same for one that writes under several keys; `keysOf` gives what is known of the place of each. */
  async writeAll<T>(keys: readonly Kept[], call: (keysOf: (index: number) => KnownKeys) => Promise<T>): Promise<T> {
    const { held } = this;
    const places = await Promise.all(keys.map((key) => (isOwn(key) ? key.sessionId : this.#placeOf(key))));
    return held.write(
      [...new Set(places)],
      () => call((index) => held.keys(places[index] as string)),
      keys.flatMap(sessionOf),
    );
  }

  async #placeOf({ sessionId, scope }: Kept): Promise<string> {
    if (typeof scope === "object") return keyScope(scope.key);
    const info = () => this.inner.sessions.get(sessionId);
    const user = this.userId ?? (await this.held.read(sessionId, info))?.user_id;
    // Without a user the call is refused, wherever it looks.
    return user == null ? sessionId : userScope(user);
  }
}

const isOwn = ({ scope = "session" }: Kept) => scope === "session";

const sessionOf = ({ sessionId }: Kept) => (sessionId === "" ? [] : [sessionId]);
