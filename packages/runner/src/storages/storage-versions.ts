import { Queue, Recent, StemmaError } from "@stemma/model";
import type { SessionState, SessionStorage } from "../types.js";

/** How many sessions are remembered by their id alone, so that a process that serves any number of them stays level. */
const MAX_REMEMBERED = 10_000;

/**
 * The stored version that a save may replace: null that there is none, undefined whichever there is. A storage makes a
 * new one with every save, and never one that it had before.
 */
export type Expected = string | null | undefined;

/**
 * Which stored version a state object stands for: the one it was loaded from or saved as here. Any other object of a
 * session counts as the version that was last seen of it; of a session that was never seen nothing is known.
 */
export class Versions {
  readonly #ofState = new WeakMap<SessionState, string>();
  readonly #lastSeen = new Recent<string | null>(MAX_REMEMBERED);
  readonly #queue = new Queue();

  expected(state: SessionState): Expected {
    const seen = this.#lastSeen.get(state.id);
    // Deleted here, or never there: the next save makes it.
    return seen === null ? null : (this.#ofState.get(state) ?? seen);
  }

  of(state: SessionState): string | null {
    return this.#ofState.get(state) ?? null;
  }

  note(state: SessionState, version: string): void {
    this.#ofState.set(state, version);
    this.#lastSeen.set(state.id, version);
  }

  /** It was deleted here, or loaded and not there: one that someone else makes from now on is not to be overwritten. */
  noteNone(id: string): void {
    this.#lastSeen.set(id, null);
  }

  /** Notes that a session which nobody loaded is absent: one that was seen before is not to be brought back. */
  noteAbsent(id: string): void {
    if (this.#lastSeen.get(id) === undefined) this.#lastSeen.set(id, null);
  }

  /** One after the other for each session: our own writes are no conflict. */
  exclusive<T>(id: string, work: () => Promise<T>): Promise<T> {
    return this.#queue.write(id, work);
  }
}

/** A storage that tells the versions of a session apart, so that the runner notices what other processes saved. */
export interface VersionedStorage extends SessionStorage {
  /**
   * A version that tells the stored state from every other; null when there is none. Cheap beside loading it. After a null,
   * `save` refuses to overwrite what another process has made meanwhile.
   */
  version(sessionId: string): Promise<Version | null>;
  /** The version that this object was loaded from or saved as here; null when it was neither. Without it, what was saved is read again. */
  versionOf?(state: SessionState): Version | null;
}

export type Version = string | number;

export function isVersioned(storage: SessionStorage): storage is VersionedStorage {
  return typeof (storage as Partial<VersionedStorage>).version === "function";
}

/** The JSON of a state with its version and its id as the first fields. `indent` makes it readable. */
export function writeState(state: SessionState, version: number, indent?: number): string {
  const { id, version: _other, ...rest } = state as SessionState & { version?: unknown };
  return JSON.stringify({ version, id, ...rest }, null, indent);
}

/** A number that no other write has. */
export function newVersion(): number {
  const [low = 0, high = 0] = crypto.getRandomValues(new Uint32Array(2));
  return (high % 2 ** 20) * 2 ** 32 + low;
}

/** Reads such a text, or one without a version. Errors: `CORRUPT_STATE`. */
export function parseState(text: string, id: string): SessionState {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw corruptState(id, cause);
  }
  if (typeof value !== "object" || value === null || !("id" in value) || typeof value.id !== "string") {
    throw corruptState(id);
  }
  const { version: _version, ...state } = value as SessionState & { version?: unknown };
  if (!Array.isArray(state.messages)) throw corruptState(id);
  return state;
}

/** Nothing was overwritten. */
export function conflict(id: string): StemmaError {
  const message = `Session "${id}" was written by someone else since it was read here. Nothing was overwritten; resume it to go on from there.`;
  return new StemmaError("SESSION_CONFLICT", { sessionId: id }, message);
}

export function corruptState(id: string, cause?: unknown): StemmaError {
  const why = cause instanceof Error ? ` (${cause.message})` : "";
  const message = `The stored data of session "${id}" is not a valid session state${why}; restore it, or delete it.`;
  return new StemmaError("CORRUPT_STATE", { sessionId: id }, message, { cause });
}
