import type { BlockScope, Store } from "../../../storage/contract.js";
import { keyScope, userScope } from "../../../storage/session-id.js";
import type { HeldSessions } from "./held-sessions.js";

interface Kept {
  readonly sessionId: string;
  readonly scope?: BlockScope | undefined;
}

/** Where blocks and entries are kept: with their session, or in a state of their own for a user or a key. */
export class ScopedStates {
  constructor(
    private readonly held: HeldSessions,
    private readonly inner: Store,
    private readonly userId: string | undefined,
  ) {}

  /** Runs a call that reads what is kept under `key`, with all in memory that it needs. */
  async read<T>(key: Kept, call: () => Promise<T>): Promise<T> {
    const { held } = this;
    if (isOwn(key)) return held.read(key.sessionId, call);
    const state = await this.#stateOf(key);
    return held.write([], call, [state, ...sessionOf(key)]);
  }

  /** The same for one that writes. */
  write<T>(key: Kept, call: () => Promise<T>): Promise<T> {
    return this.writeAll([key], call);
  }

  /** The same for one that writes under several keys. */
  writeAll<T>(keys: readonly Kept[], call: () => Promise<T>): Promise<T> {
    // In its turn from the call on.
    if (keys.every(isOwn)) return this.held.write(unique(keys.map(({ sessionId }) => sessionId)), call);
    return this.#writeIn(Promise.all(keys.map((key) => (isOwn(key) ? key.sessionId : this.#stateOf(key)))), keys, call);
  }

  async #writeIn<T>(states: Promise<string[]>, keys: readonly Kept[], call: () => Promise<T>): Promise<T> {
    return this.held.write(unique(await states), call, keys.flatMap(sessionOf));
  }

  async #stateOf({ sessionId, scope }: Kept): Promise<string> {
    if (typeof scope === "object") return keyScope(scope.key);
    const info = () => this.inner.sessions.get(sessionId);
    const user = this.userId ?? (await this.held.read(sessionId, info))?.user_id;
    // Without a user the call is refused, wherever it looks.
    return user == null ? sessionId : userScope(user);
  }
}

const isOwn = ({ scope = "session" }: Kept) => scope === "session";

const sessionOf = ({ sessionId }: Kept) => (sessionId === "" ? [] : [sessionId]);

const unique = (ids: readonly string[]) => [...new Set(ids)];
