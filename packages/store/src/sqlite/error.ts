import { StemmaError } from "@stemma/model";
import { missingTable, tablesMissing } from "../engine/tables.js";

/** The code by which SQLite tells of a damaged file. */
const CORRUPT = 11;

/** SQLite's code for a file that was moved, where it notices: without a write-ahead log. */
const READONLY_DBMOVED = 1032;

/** SQLite says no more than "attempt to write a readonly database", of a file that is only read too. */
const READONLY_ADVICE =
  "its file, the folder that it is in, or its connection is read-only. To read it needs the right to write too, because the write-ahead log is kept beside the file. Give that right, or copy the file to another folder.";

/** The error for a database whose file is no longer the one at its path. */
export function storeReplaced(cause?: unknown): StemmaError {
  const message =
    "The database file was replaced or deleted while the store was open; what is written now would be gone. Close the store and open it again.";
  return new StemmaError("STORE_REPLACED", {}, message, { cause });
}

/** True for what is told of a file that SQLite found damaged. */
export function isDamage(error: unknown): boolean {
  if (!StemmaError.isInstance(error, "STORE_FAILED")) return false;
  const { sqlite, errcode } = error.details;
  const isCorrupt =
    typeof errcode === "number" ? (errcode & 0xff) === CORRUPT : String(sqlite).includes("SQLITE_CORRUPT");
  return isCorrupt || /\bmalformed\b|file is damaged/.test(error.message);
}

/** Runs `work`; what a SQLite module throws in it comes as `sqliteError` says. */
export function tellingErrors<T>(work: () => T, mayBeEncrypted?: () => boolean): T {
  try {
    return work();
  } catch (error) {
    throw sqliteError(error, undefined, mayBeEncrypted);
  }
}

/** The error that a caller sees for what a SQLite module threw, of `file`; the module's own error is its cause. */
export function sqliteError(error: unknown, file?: string, mayBeEncrypted = () => false): unknown {
  if (StemmaError.isInstance(error) || !(error instanceof Error)) return error;
  const { code, errcode } = error as { code?: unknown; errcode?: unknown };
  const text = `${typeof code === "string" ? code : ""} ${error.message}`;
  const primary = typeof errcode === "number" ? errcode & 0xff : undefined;
  const fail = (stemmaCode: ConstructorParameters<typeof StemmaError>[0], message: string) =>
    new StemmaError(stemmaCode, { sqlite: code, errcode }, message, { cause: error });
  if (isBusy(error)) {
    return fail(
      "STORE_LOCKED",
      "Another connection held the database longer than the busy timeout. Try again, or end that connection.",
    );
  }
  if (primary === 26 || /SQLITE_NOTADB|file is not a database/.test(text)) {
    if (mayBeEncrypted()) {
      return fail(
        "WRONG_KEY",
        `${file ?? "The file"} cannot be read with this key, or without one: it is encrypted with another key, or it is not encrypted, or it is no SQLite database. Nothing of it was changed; pass its own key.`,
      );
    }
    return fail("NOT_A_DATABASE", `${file ?? "The file"} is not a SQLite database. Name another file.`);
  }
  if (errcode === READONLY_DBMOVED || /SQLITE_READONLY_DBMOVED/.test(text)) return storeReplaced(error);
  if (primary === 8 || /SQLITE_READONLY|readonly database/.test(text)) {
    const what = file === undefined ? "The database" : `The database ${file}`;
    return fail("STORE_FAILED", `${what} cannot be written: ${READONLY_ADVICE}`);
  }
  if (primary === 18 || /SQLITE_TOOBIG|string or blob too big/.test(text)) {
    return fail("MESSAGE_TOO_LARGE", "The text is too large for one row of the database: shorten or split it.");
  }
  if (/not open|is closed|closed database|finalized/i.test(error.message)) {
    return fail("STORE_CLOSED", "The database of this store was closed; open a new one.");
  }
  const table = missingTable(error.message);
  if (table !== null) return tablesMissing([table], "the store is open", { cause: error });
  const where = file === undefined ? "" : ` of ${file}`;
  return fail("STORE_FAILED", `The database${where} refused: ${error.message}`);
}

/** True of what a SQLite module throws where another connection holds the database. */
export function isBusy(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, errcode } = error as { code?: unknown; errcode?: unknown };
  if (typeof errcode === "number") return (errcode & 0xff) === 5 || (errcode & 0xff) === 6;
  const text = `${typeof code === "string" ? code : ""} ${error.message}`;
  return /SQLITE_BUSY|SQLITE_LOCKED|database (?:table )?is locked/.test(text);
}
