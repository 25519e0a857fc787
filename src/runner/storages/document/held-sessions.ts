import { StemmaError } from "../../../errors.js";
import { Queue } from "../../../queue.js";
import type { SessionInfo, Store } from "../../../storage/contract.js";
import { sameJson } from "../../messages/same-json.js";
import type { SessionState, SessionStorage } from "../../types.js";
import { invalidId } from "../session-id.js";
import { corruptState } from "../state-json.js";
import {
  type ConvertedMessage,
  endReasonOf,
  exportSession,
  importSession,
  type KnownKeys,
  newKeys,
  timesOf,
} from "./session-snapshot.js";

/** A storage that can tell cheaply whether a session was saved since it was last read. */
export interface VersionedStorage extends SessionStorage {
  /** Grows by one with every save of the session; 0 for one that is not there. */
  version(sessionId: string): Promise<number>;
}

/** A session that lies in memory: its content in the inner store, the rest here. */
interface Held {
  /** What was last loaded or saved; storages may have put fields of their own into it. Null until the first save. */
  readonly state: SessionState | null;
  readonly version: number;
  readonly keys: KnownKeys;
  /** When the messages that came from the storage were stored, by id. */
  readonly times: Map<string, string>;
  /** Its messages as the storage is given them, as far as they did not change. */
  readonly converted: Map<string, ConvertedMessage>;
  /** The inner store's time of the last change right after loading, in place of which that of the state counts. */
  readonly loadedAt: string | null;
  readonly endReason: string | null;
}

// Under this id the unnamed session (and with it what sessions share) lies in a storage.
const UNNAMED = "stemma-unnamed";
/** How often a call is tried again when another process was faster. */
const MAX_ATTEMPTS = 50;

/**
 * The sessions of a four-method storage that lie in an inner store. A write is saved before it resolves; one whose save
 * fails has not happened; one that another process forestalled is done anew on what that one saved.
 */
export class HeldSessions {
  readonly #held = new Map<string, Held>();
  /** One call after the other for each session, as each may load and save it. */
  readonly order = new Queue();
  #closed = false;

  constructor(
    private readonly storage: SessionStorage,
    private readonly inner: Store,
  ) {}

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
        const made: string[] = [];
        try {
          const result = await call();
          for (const id of written) if (await this.#save(id)) made.push(id);
          return result;
        } catch (error) {
          for (const id of made) await this.storage.delete(keyOf(id));
          // As the storage has it, so it is.
          for (const id of written) await this.#forget(id);
          if (!StemmaError.isInstance(error, "SESSION_CONFLICT") || attempt === MAX_ATTEMPTS) throw error;
        }
      }
    });
  }

  /** Removes a session from the storage. */
  remove(id: string): Promise<void> {
    return this.order.write(id, async () => {
      this.assertOpen();
      await this.storage.delete(keyOf(id));
      await this.#forget(id);
    });
  }

  /** Forgets what is in memory of a session, so that its next use reads it from the storage. */
  reload(id: string): Promise<void> {
    return this.order.write(id, () => this.#forget(id));
  }

  async loadAll(): Promise<void> {
    this.assertOpen();
    for (const key of await this.storage.list()) await this.read(idOf(key), async () => {});
  }

  /** Which blocks and entries the session has. Only within a call. */
  keys(id: string): KnownKeys {
    const held = this.#held.get(id) ?? newHeld();
    this.#held.set(id, held);
    return held.keys;
  }

  /** When a message that came from the storage was stored; null for one that was written here. */
  timeOf(sessionId: string, messageId: string): string | null {
    return this.#held.get(sessionId)?.times.get(messageId) ?? null;
  }

  /** A message was rewritten; with `dated` its time is its own from here on. */
  rewritten(sessionId: string, messageId: string, dated: boolean): void {
    const held = this.#held.get(sessionId);
    held?.converted.delete(messageId);
    if (dated) held?.times.delete(messageId);
  }

  /** Messages were removed (all, when `messageIds` is null): later ones may have their ids. */
  removed(sessionId: string, messageIds: readonly string[] | null): void {
    const held = this.#held.get(sessionId);
    if (held === undefined) return;
    for (const map of [held.converted, held.times]) {
      for (const id of messageIds ?? [...map.keys()]) map.delete(id);
    }
  }

  /** A registry entry with the times of the storage: the inner store takes the time of loading for that of writing. */
  infoOf(info: SessionInfo): SessionInfo {
    const held = this.#held.get(info.id);
    if (held?.state == null) return info;
    const { createdAt, updatedAt } = held.state;
    const updated = info.updated_at === held.loadedAt ? new Date(updatedAt).toISOString() : info.updated_at;
    return {
      ...info,
      created_at: new Date(createdAt).toISOString(),
      updated_at: updated,
      end_reason: info.end_reason ?? held.endReason,
    };
  }

  assertOpen(): void {
    if (this.#closed) throw new StemmaError("STORE_CLOSED", {}, "This store was closed; open a new one.");
  }

  close(): void {
    this.#closed = true;
  }

  async #load(id: string): Promise<void> {
    this.assertOpen();
    const key = keyOf(id);
    const version = isVersioned(this.storage) ? await this.storage.version(key) : 0;
    const known = this.#held.get(id);
    if (known !== undefined) {
      if (!isVersioned(this.storage) || known.version === version) return;
      await this.#forget(id);
    }
    const state = await this.storage.load(key);
    if (!state) return;
    try {
      assertTimes(state);
      const keys = await importSession(this.inner, id, state);
      const loadedAt = (await this.inner.sessions.get(id))?.updated_at ?? null;
      const [times, endReason] = [timesOf(state), endReasonOf(state)];
      this.#held.set(id, { state, version, keys, times, converted: new Map(), loadedAt, endReason });
    } catch (error) {
      await this.#forget(id);
      throw StemmaError.isInstance(error, "STORE_CLOSED") ? error : corruptState(key, error);
    }
  }

  // Resolves to whether the session is new in the storage.
  async #save(id: string): Promise<boolean> {
    const held = this.#held.get(id) ?? newHeld();
    const info = await this.inner.sessions.get(id);
    const endReason = info?.end_reason ?? held.endReason;
    const times = (messageId: string) => held.times.get(messageId) ?? null;
    const { keys, converted } = held;
    const content = { ...(await exportSession(this.inner, id, keys, { endReason, times, converted })), id: keyOf(id) };
    const { state } = held;
    if (state !== null && sameJson(content, contentOf(state))) return false;
    const now = Date.now();
    const entry = info === null ? null : this.infoOf(info);
    const createdAt = state?.createdAt ?? (entry === null ? now : Date.parse(entry.created_at));
    const updatedAt = entry === null ? now : Date.parse(entry.updated_at);
    const next: SessionState = Object.assign(state ?? {}, content, { createdAt, updatedAt });
    await this.storage.save(next);
    this.#held.set(id, { ...held, state: next, version: held.version + 1, endReason });
    return state === null;
  }

  async #forget(id: string): Promise<void> {
    this.#held.delete(id);
    await this.inner.sessions.delete(id);
  }
}

function contentOf(state: SessionState): object {
  const { createdAt: _created, updatedAt: _updated, ...content } = state;
  return content;
}

function newHeld(): Held {
  const empty = { keys: newKeys(), times: new Map(), converted: new Map() };
  return { state: null, version: 0, ...empty, loadedAt: null, endReason: null };
}

function isVersioned(storage: SessionStorage): storage is VersionedStorage {
  return typeof (storage as Partial<VersionedStorage>).version === "function";
}

function assertTimes({ createdAt, updatedAt }: SessionState): void {
  if (Number.isFinite(createdAt) && Number.isFinite(updatedAt)) return;
  throw new TypeError("createdAt and updatedAt are numbers of milliseconds.");
}

/** Errors: `INVALID_SESSION_ID`. */
function keyOf(sessionId: string): string {
  if (sessionId === UNNAMED) throw invalidId(sessionId, `The id "${UNNAMED}" is taken; choose another one.`);
  return sessionId === "" ? UNNAMED : sessionId;
}

function idOf(key: string): string {
  return key === UNNAMED ? "" : key;
}
