import { statSync } from "node:fs";
import { invalid, StemmaError } from "../errors.js";
import { type FileContent, replaceFile } from "../files/replace-file.js";
import { whyNotWritten } from "../files/why-not-written.js";

/**
 * Writes the file that an option names, whole or not at all; only its owner can read it. Errors: `INVALID_ARGUMENT` for a
 * path at which no file can be written, and those of `content`.
 */
export async function writeOutput(path: string, content: FileContent): Promise<void> {
  const refuse = (why: string, cause?: unknown) =>
    invalid(`"${path}" cannot be written: ${why}. Name another file.`, { path }, { cause });
  try {
    // Before the work, and so that no device is replaced by a file.
    const found = statSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory()) throw refuse("it is a folder");
    if (found && !found.isFile()) throw refuse("it is a device or a pipe");
    await replaceFile(path, content, { mode: 0o600 });
  } catch (error) {
    if (StemmaError.isInstance(error) || !(error instanceof Error) || !("syscall" in error)) throw error;
    throw refuse(whyNotWritten(path, error), error);
  }
}
