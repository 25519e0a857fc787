import { StemmaError, sha256 } from "@stemma/model";
import { isScope } from "@stemma/store";

const MAX_LENGTH = 200;
const DEVICE = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;

/** True for an id that as a file name stays in its folder, and is no other id's on any file system but for its case. */
export function isFileName(id: string): boolean {
  const plain = /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/.test(id) && !id.endsWith(".");
  return plain && id.length <= MAX_LENGTH && !DEVICE.test(id);
}

/** Errors: `INVALID_SESSION_ID`. */
export function assertFileName(id: string): void {
  if (isFileName(id)) return;
  throw invalidId(
    id,
    `A session kept in a file has an id of letters, digits, "_", "-" and ".", at most ${MAX_LENGTH} of them, neither starting nor ending with ".", and no name of a device.`,
  );
}

// Begins the ids under which the blocks of users and keys lie in a storage.
const SCOPE = "stemma-scope-";

/** The id under which a scope's blocks lie in a storage: one that any storage takes. */
export const scopeKey = (scope: string) => SCOPE + sha256(scope);

/** True for an id of a storage that is no session's. */
export const isScopeKey = (id: string) => id.startsWith(SCOPE);

export function invalidId(id: string, message: string): StemmaError {
  return new StemmaError("INVALID_SESSION_ID", { sessionId: id }, message);
}

// Under this id the unnamed session (and with it what sessions share) lies in a storage.
const UNNAMED = "stemma-unnamed";

/** The id under which a session, or a scope, lies in a storage. Errors: `INVALID_SESSION_ID`. */
export function keyOf(sessionId: string): string {
  if (isScope(sessionId)) return scopeKey(sessionId);
  if (sessionId === UNNAMED || isScopeKey(sessionId))
    throw invalidId(sessionId, `The id "${sessionId}" is taken; choose another one.`);
  return sessionId === "" ? UNNAMED : sessionId;
}

/** The session that lies under a key. */
export function idOf(key: string): string {
  return key === UNNAMED ? "" : key;
}
