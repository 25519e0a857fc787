import { Recent } from "@stemma/model";
import type { SessionInfo, Store } from "@stemma/store";
import type { Principal } from "./principal.js";
import { notThere } from "./refusals.js";

/** Sessions that are known to be the principal's. */
const KNOWN_SESSIONS = 1_000;

/** Milliseconds after which it is asked again whose a session is: it may have been deleted and made anew by others. */
const KNOWN_FOR = 1_000;

/** The sessions of a principal who reaches a part of the store. */
export class OwnSessions {
  /** When each was found to be theirs, in milliseconds. */
  readonly #known = new Recent<number>(KNOWN_SESSIONS);
  /** Calls that wait until it is known whose their sessions are, one after the other: they are made in their order. */
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  /** `whole` is asked whose a session is; `inner` is the principal's part of it. */
  constructor(
    private readonly whole: Store,
    private readonly inner: Store,
    private readonly principal: Principal,
  ) {}

  /** True where a call on these sessions may be made at once. */
  areKnown(sessions: readonly string[]): boolean {
    return this.#waiting === 0 && sessions.every((id) => this.#isKnown(id));
  }

  forget(sessions: readonly string[]): void {
    for (const id of sessions) this.#known.delete(id);
  }

  /**
   * Makes a call once it is known that its sessions are theirs, after those that wait already. With `makesSession`, one that is not
   * there yet becomes the project's. Errors: `SESSION_NOT_FOUND`; those of the call.
   */
  async afterOthers<T>(sessions: readonly string[], makesSession: boolean, make: () => T): Promise<Awaited<T>> {
    this.#waiting += 1;
    // In a list, since a promise would be waited for.
    const made = this.#last.then(async () => {
      for (const id of sessions) await this.#assertOwn(id, makesSession);
      return [make()] as const;
    });
    this.#last = made
      .catch(() => {})
      .finally(() => {
        this.#waiting -= 1;
      });
    return await (await made)[0];
  }

  #isKnown(id: string): boolean {
    const found = this.#known.get(id);
    const age = Date.now() - (found ?? 0);
    return found !== undefined && age >= 0 && age < KNOWN_FOR;
  }

  /**
   * A session that nobody has written yet becomes theirs with the first write. Whether it is theirs is asked before, and not in the
   * transaction: who gets between only gains what registering the id first would have given. Errors: `SESSION_NOT_FOUND`.
   */
  async #assertOwn(id: string, makesSession: boolean): Promise<void> {
    if (this.#isKnown(id)) return;
    const { project } = this.principal;
    let info = await this.whole.sessions.get(id);
    if (info === null) {
      if (await this.#holds(id)) throw notThere(id);
      if (project === undefined || !makesSession) return;
      info = await this.inner.sessions.create({ id, name: id, metadata: { project } });
    }
    if (!this.#isOwn(info)) throw notThere(id);
    this.#known.set(id, Date.now());
  }

  #isOwn({ user_id, metadata }: SessionInfo): boolean {
    const { userId, project } = this.principal;
    return (userId === undefined || user_id === userId) && (project === undefined || metadata.project === project);
  }

  // A program that reaches everything may keep records and memory under an id that it has not registered.
  async #holds(id: string): Promise<boolean> {
    const { blocks, entries, records } = this.whole;
    const scope = { sessionId: id };
    const found = await Promise.all([records.labels(id), blocks.list(scope), entries.labels(scope)]);
    return found.some(({ length }) => length > 0);
  }
}
