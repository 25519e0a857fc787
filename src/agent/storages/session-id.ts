import { StemmaError } from "../../errors.js";

const MAX_LENGTH = 200;
const DEVICE = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;

/** Throws `INVALID_SESSION_ID` for an id that as a file name could leave the folder, or be another id's on some file system. */
export function assertFileName(id: string): void {
  const plain = /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/.test(id) && !id.endsWith(".");
  if (plain && id.length <= MAX_LENGTH && !DEVICE.test(id)) return;
  throw invalidId(
    id,
    `A session kept in a file has an id of letters, digits, "_", "-" and ".", at most ${MAX_LENGTH} of them, neither starting nor ending with ".".`,
  );
}

export function invalidId(id: string, message: string): StemmaError {
  return new StemmaError("INVALID_SESSION_ID", { sessionId: id }, message);
}
