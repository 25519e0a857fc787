import type { SessionState, SessionStorage } from "../types.js";

/** A storage that tells the versions of a session apart, so that the runner notices what other processes saved. */
export interface VersionedStorage extends SessionStorage {
  /**
   * What tells the stored state from every other; null when there is none. Cheap beside loading it. After a null, `save`
   * refuses to overwrite what another process has made meanwhile.
   */
  version(sessionId: string): Promise<Version | null>;
  /** The version that this object was loaded from or saved as here; null when it was neither. Without it, what was saved is read again. */
  versionOf?(state: SessionState): Version | null;
}

export type Version = string | number;

export function isVersioned(storage: SessionStorage): storage is VersionedStorage {
  return typeof (storage as Partial<VersionedStorage>).version === "function";
}
