import { reasonOf, StemmaError } from "@stemma/model";
import { UNREACHABLE } from "@stemma/postgres";
import { isDamage } from "@stemma/store";
import type { Io } from "./io.js";
import { printable } from "./text.js";

const DAMAGED =
  "The file is damaged: if `stemma check --repair` does not mend it, restore a backup, or use SQLite's `.recover`.";

/** An error as JSON output has it. `code` is a `StemmaError`'s, a system's (`ENOENT`), or `INTERNAL` for a fault of ours. */
export interface ErrorDescription {
  code: string;
  message: string;
  details?: Readonly<Record<string, unknown>>;
}

export function describeError(error: unknown): ErrorDescription {
  if (StemmaError.isInstance(error)) {
    const { code, details } = error;
    const message = isUnreachable(error)
      ? unreachable(error.cause)
      : isDamage(error)
        ? `${error.message.replace(/\.?$/, ".")} ${DAMAGED}`
        : error.message;
    return Object.keys(details).length === 0 ? { code, message } : { code, message, details };
  }
  if (isSystemError(error)) return { code: error.code, message: error.message };
  return { code: "INTERNAL", message: reasonOf(error) };
}

/** Tells of an error on standard error: as a line of text, with what an unexpected one needs to be reported. */
export function reportError(io: Io, error: unknown, { prefix = "" }: { prefix?: string } = {}): void {
  const { message } = describeError(error);
  const isExpected = StemmaError.isInstance(error) || isSystemError(error);
  const stack = !isExpected && error instanceof Error ? `\n${error.stack ?? ""}` : "";
  io.writeError(`stemma: ${printable(`${prefix}${message}`)}${stack}\n`);
}

function isUnreachable({ code, cause }: StemmaError): boolean {
  return code === "CONNECTION_LOST" && cause instanceof Error && "code" in cause && UNREACHABLE.has(String(cause.code));
}

function unreachable(cause: unknown): string {
  const why = reasonOf(cause);
  return `No database answers (${why}). Is Postgres running, and is its address (--db or STEMMA_DB) right?`;
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException & { code: string; syscall: string } {
  return error instanceof Error && "code" in error && "syscall" in error && typeof error.code === "string";
}
