import { StemmaError } from "../../errors.js";

/** Bytes that any archive may unpack to. */
const ALWAYS = 64 * 1024 * 1024;
/** What conversations shrink to is a tenth, as a rule: an archive that unpacks to this many times its size was made to. */
const MOST = 200;

/** The error for an archive that is not unpacked. */
export function archiveError(why: string, cause?: unknown): StemmaError {
  return new StemmaError("ARCHIVE_REFUSED", {}, `The archive cannot be read: ${why}.`, { cause });
}

/** Throws `ARCHIVE_REFUSED` where so many bytes become so many that they were made to fill the memory or the disk. */
export function assertNoBomb(packed: number, unpacked: number): void {
  if (unpacked <= ALWAYS || unpacked <= MOST * packed) return;
  throw archiveError(`it unpacks to more than ${MOST} times its size`);
}
