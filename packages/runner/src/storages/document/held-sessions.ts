import { Queue, StemmaError, sameJson } from "@stemma/model";
import type { Erased, Store } from "@stemma/store";
import { isScope } from "@stemma/store";
import type { SessionState, SessionStorage } from "../../types.js";
import { idOf, isScopeKey, keyOf } from "../session-id.js";
import { corruptState, isVersioned, type Version } from "../storage-versions.js";
import type { ConvertedMessage } from "./session-snapshot.js";
import { exportSession, importSession, isEmpty, removeScope } from "./session-snapshot.js";

/** How often a call is tried again when another process was faster. */
const MAX_ATTEMPTS = 50;

/**
 * The sessions of a four-method storage that lie in an inner store. A write is saved before it resolves; one whose save
 * fails has not happened; one that another process forestalled is done anew on what that one saved.
 */
export class HeldSessions {
  /** One call after the other for each session, as each may load and save it. */
  readonly order = new Queue();
  readonly memory: SessionMemory;

  constructor(
    private readonly storage: SessionStorage,
    private readonly inner: Store,
  ) {
    this.memory = new SessionMemory(inner, this.order);
  }

  /** Runs a call that only reads the session. */
  read<T>(id: string, call: () => Promise<T>): Promise<T> {
    return this.order.write(id, async () => {
      await this.#load(id);
      return call();
    });
  }

  /** Runs a call that changes the sessions `written`, and reads those in `used` beside them. */
  write<T>(written: readonly string[], call: () => Promise<T>, used: readonly string[] = []): Promise<T> {
    const ids = [...written, ...used];
    return this.order.hold({ write: ids }, async () => {
      for (let attempt = 1; ; attempt += 1) {
        for (const id of ids) await this.#load(id);
        const undo: (() => Promise<unknown>)[] = [];
        try {
          const result = await call();
          for (const id of written) undo.push(await this.#save(id, id !== written.at(-1)));
          return result;
        } catch (error) {
          for (const back of undo.reverse()) await back();
          // As the storage has it, so it is.
          for (const id of written) await this.memory.forget(id);
          if (!StemmaError.isInstance(error, "SESSION_CONFLICT") || attempt === MAX_ATTEMPTS) throw error;
        }
      }
    });
  }

  /**
   * Removes a session from the storage, where `isWanted` says so. What cannot be read is removed all the same, and not counted.
   * Null where it stays.
   */
  remove(id: string, isWanted = async (): Promise<boolean> => true): Promise<Erased | null> {
    return this.order.write(id, async () => {
      this.memory.assertOpen();
      await this.#load(id).catch((error: unknown) => {
        if (!StemmaError.isInstance(error, "CORRUPT_STATE")) throw error;
      });
      if (!(await isWanted())) return null;
      try {
        const erased = await this.inner.sessions.delete(id);
        await this.storage.delete(keyOf(id));
        return erased;
      } finally {
        await this.memory.forget(id);
      }
    });
  }

  /** Forgets what is in memory of a session, so that its next use reads it from the storage. */
  reload(id: string): Promise<void> {
    return this.order.write(id, () => this.memory.forget(id));
  }

  /** Runs a call that reads every session of the storage. */
  async readAll<T>(call: () => Promise<T>): Promise<T> {
    this.memory.assertOpen();
    return this.memory.whole(async () => {
      for (const key of await this.storage.list()) if (!isScopeKey(key)) await this.read(idOf(key), async () => {});
      return call();
    });
  }

  rewritten(sessionId: string, messageId: string): void {
    this.memory.get(sessionId)?.converted.delete(messageId);
  }

  /** Messages were removed (all, when `messageIds` is null): later ones may have their ids. */
  removed(sessionId: string, messageIds: readonly string[] | null): void {
    const converted = this.memory.get(sessionId)?.converted;
    for (const id of messageIds ?? [...(converted?.keys() ?? [])]) converted?.delete(id);
  }

  async #load(id: string): Promise<void> {
    this.memory.assertOpen();
    const key = keyOf(id);
    const known = this.memory.get(id);
    const { storage } = this;
    let version: Version | null | undefined;
    if (isVersioned(storage)) {
      version = await storage.version(key);
      if (known !== undefined && known.version === version) return this.memory.use(id, known);
      if (known !== undefined) await this.memory.forget(id);
    } else if (known !== undefined) return this.memory.use(id, known);
    const state = await storage.load(key);
    if (!state) return;
    try {
      assertTimes(state);
      await importSession(this.inner, id, state);
      // What is written between the two reads makes another version: then it is read again.
      version = this.#versionOf(state) ?? version;
      this.memory.use(id, { state, version, converted: new Map() });
    } catch (error) {
      await this.memory.forget(id);
      throw StemmaError.isInstance(error, "STORE_CLOSED") ? error : corruptState(key, error);
    }
  }

  // Resolves to what takes it back; `undoable` where something is saved after it.
  async #save(id: string, undoable: boolean): Promise<() => Promise<unknown>> {
    const held: Held = this.memory.get(id) ?? { state: null, version: null, converted: new Map() };
    const info = await this.inner.sessions.get(id);
    const nothing = async (): Promise<void> => {};
    const { state, converted } = held;
    const content = { ...(await exportSession(this.inner, id, converted)), id: keyOf(id) };
    // A call that wrote nothing makes no session.
    if (info === null && isEmpty(content)) {
      if (state === null) return nothing;
      if (isScope(id)) {
        await this.storage.delete(keyOf(id));
        this.memory.drop(id);
        return nothing;
      }
    }
    const now = Date.now();
    const createdAt = info === null ? (state?.createdAt ?? now) : Date.parse(info.created_at);
    const updatedAt = info === null ? now : Date.parse(info.updated_at);
    // A copy of a session is dated back, and nothing else of it changes.
    const isDatedBack = state !== null && (createdAt !== state.createdAt || updatedAt < state.updatedAt);
    if (state !== null && !isDatedBack && sameJson(content, contentOf(state))) return nothing;
    const before = undoable && state !== null ? structuredClone(state) : null;
    const next: SessionState = Object.assign(state ?? {}, content, { createdAt, updatedAt });
    await this.storage.save(next);
    this.memory.use(id, { ...held, state: next, version: this.#versionOf(next) });
    if (state === null) return () => this.storage.delete(keyOf(id));
    return before === null ? nothing : () => this.storage.save(restore(next, before));
  }

  #versionOf(state: SessionState): Version | null | undefined {
    const { storage } = this;
    return isVersioned(storage) ? storage.versionOf?.(state) : undefined;
  }
}

// A storage knows a state by its object.
function restore(state: SessionState, before: SessionState): SessionState {
  for (const field of Object.keys(state)) delete (state as unknown as Record<string, unknown>)[field];
  return Object.assign(state, before);
}

function contentOf(state: SessionState): object {
  const { createdAt: _created, updatedAt: _updated, ...content } = state;
  return content;
}

function assertTimes({ createdAt, updatedAt }: SessionState): void {
  if (Number.isFinite(createdAt) && Number.isFinite(updatedAt)) return;
  throw new TypeError("createdAt and updatedAt must be numbers of milliseconds.");
}

/** A session that lies in memory: its content in the inner store, the rest here. */
interface Held {
  /** The state as it was last loaded or saved; storages may have put fields of their own into it. Null until the first save. */
  readonly state: SessionState | null;
  /** That of the state, where the storage tells versions apart; undefined when it is not known, or there are none. */
  readonly version: Version | null | undefined;
  /** Its messages as the storage is given them, as far as they did not change. */
  readonly converted: Map<string, ConvertedMessage>;
}

/** Sessions that stay in memory while nobody has them open: the ones that were used last. */
const MAX_IDLE = 200;

/** The sessions that lie in memory: those that someone has open, and those that were used last. */
class SessionMemory {
  /** The one that was used last at the end. */
  readonly #held = new Map<string, Held>();
  /** How many have a session open. */
  readonly #open = new Map<string, number>();
  /** Calls under way that need every session in memory. */
  #callsOnAll = 0;
  #closed = false;

  constructor(
    private readonly inner: Store,
    private readonly order: Queue,
  ) {}

  get(id: string): Held | undefined {
    return this.#held.get(id);
  }

  /** Notes that a session is used, with what is held of it now. */
  use(id: string, held: Held): void {
    this.#held.delete(id);
    this.#held.set(id, held);
    this.#forgetIdle();
  }

  /** Forgets what is held of a session whose content is gone from the inner store. */
  drop(id: string): void {
    this.#held.delete(id);
  }

  async forget(id: string): Promise<void> {
    this.drop(id);
    if (isScope(id)) await removeScope(this.inner, id);
    else await this.inner.sessions.delete(id);
  }

  /** Runs a call that needs every session in memory. */
  async whole<T>(call: () => Promise<T>): Promise<T> {
    this.#callsOnAll += 1;
    try {
      return await call();
    } finally {
      this.#callsOnAll -= 1;
      this.#forgetIdle();
    }
  }

  /** Keeps a session in memory until it was released as often. */
  retain(id: string): void {
    this.#open.set(id, (this.#open.get(id) ?? 0) + 1);
  }

  /** Gives the memory of a session back once nobody has it open any more: all of it is in the storage. */
  async release(id: string): Promise<void> {
    if (this.#close(id)) await this.#forgetUnused(id);
  }

  /** Ends a long read: as after any other, the session may stay in memory. */
  rest(id: string): void {
    if (this.#close(id)) this.#forgetIdle();
  }

  // True once nobody has it open any more.
  #close(id: string): boolean {
    const left = (this.#open.get(id) ?? 1) - 1;
    if (left > 0) this.#open.set(id, left);
    else this.#open.delete(id);
    return left <= 0;
  }

  /** Errors: `STORE_CLOSED`. */
  assertOpen(): void {
    if (this.#closed) throw new StemmaError("STORE_CLOSED", {}, "This store was closed; open a new one.");
  }

  close(): void {
    this.#closed = true;
    this.#held.clear();
  }

  #forgetIdle(): void {
    if (this.#callsOnAll > 0) return;
    let surplus = this.#held.size - this.#open.size - MAX_IDLE;
    for (const id of this.#held.keys()) {
      if (surplus <= 0) return;
      if (this.#open.has(id) || this.order.has(id)) continue;
      surplus -= 1;
      this.#forgetUnused(id).catch(() => {
        // The store was closed meanwhile.
      });
    }
  }

  #forgetUnused(id: string): Promise<void> {
    return this.order.write(id, async () => {
      if (!this.#open.has(id) && this.#callsOnAll === 0 && !this.#closed) await this.forget(id);
    });
  }
}
