import { type ErrorCode, noParent, StemmaError } from "@stemma/model";
import type { SqlValue } from "@stemma/store";
import { owned, tablesMissing } from "@stemma/store";

/**
 * Tells what a failure means for the statement or transaction that it ended: `conflict`: undone, and another attempt may succeed;
 * `lost`: the connection is gone, and only the server knows; `unreached`: there was no connection to send it on; `refused`:
 * undone, and would be again.
 */
export type Failure = "conflict" | "lost" | "unreached" | "refused";

const CONFLICTS = new Set([
  "40001", // serialization_failure
  "40P01", // deadlock_detected
  // Of two writers that add the same row, the second one finds it when it looks again.
  "23505", // unique_violation
  "P0002", // no_data_found: a session was deleted just when it was to be opened
  "42P07", // duplicate_table: two processes create the tables
]);

const LOST = new Set([
  "57P01", // admin_shutdown, and pg_terminate_backend
  "57P02", // crash_shutdown
  // The server had waited for too long, just when a statement was sent.
  "57P05", // idle_session_timeout
  "25P03", // idle_in_transaction_session_timeout
  ...["ECONNRESET", "ECONNABORTED", "EPIPE", "ETIMEDOUT"],
  ...["CONNECTION_CLOSED", "CONNECTION_DESTROYED"],
  ...["ERR_POSTGRES_CONNECTION_CLOSED", "ERR_POSTGRES_IDLE_TIMEOUT", "ERR_POSTGRES_LIFETIME_TIMEOUT"],
]);

/** Codes of a connection that could not be made. */
export const UNREACHABLE: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ERR_POSTGRES_CONNECTION_REFUSED",
]);

const NOT_CONNECTED = new Set([
  ...UNREACHABLE,
  "57P03", // cannot_connect_now
  "CONNECT_TIMEOUT",
  "ERR_POSTGRES_CONNECTION_TIMEOUT",
]);
const NOT_CONNECTED_MESSAGE = /connect timeout|timeout exceeded when trying to connect/i;

// The last one is of Citus, of a worker whose connection ended while it committed: it has no SQLSTATE of its own.
const LOST_MESSAGE =
  /connection (?:terminated|ended|closed|error)|not queryable|could not commit transaction for shard/i;
const CLOSED_MESSAGE = /after calling end on the pool|CONNECTION_ENDED|client was closed|PGlite is clos/i;

export function failureOf(error: unknown): Failure {
  if (StemmaError.isInstance(error)) return error.cause === undefined ? "refused" : failureOf(error.cause);
  const { code, message } = partsOf(error);
  if (CONFLICTS.has(code)) return "conflict";
  if (CLOSED_MESSAGE.test(`${code} ${message}`)) return "refused";
  if (NOT_CONNECTED.has(code) || NOT_CONNECTED_MESSAGE.test(message)) return "unreached";
  if (LOST.has(code) || code.startsWith("08") || LOST_MESSAGE.test(message)) return "lost";
  return "refused";
}

const NO_ANSWERS: readonly ErrorCode[] = ["STORE_FAILED", "STORE_LOCKED", "STORE_CLOSED", "MESSAGE_TOO_LARGE"];

/**
 * The error of a call of which an attempt was lost, and the last one failed. What the data answered holds for both. But whoever
 * was not let in did not learn what became of the lost one.
 */
export function afterLost(error: unknown): unknown {
  if (!StemmaError.isInstance(error) || !NO_ANSWERS.includes(error.code)) return error;
  const message = `The connection to the database was lost, and another attempt failed: ${error.message} Look before writing it again: a write may have been stored.`;
  return new StemmaError("CONNECTION_LOST", error.details, message, { cause: error.cause });
}

/** True for an error that says that a table, a column or a function is not there. */
export function isMissing(error: unknown): boolean {
  return ["42P01", "42703", "42883", "3F000"].includes(partsOf(error).code);
}

/** The error that a caller sees for what a client of Postgres threw; the client's own error is its cause. */
export function postgresError(error: unknown): unknown {
  if (StemmaError.isInstance(error) || !(error instanceof Error)) return error;
  const { code, message, detail } = partsOf(error);
  const fail = (stemmaCode: ErrorCode, text: string, details: Record<string, unknown> = { sqlstate: code }) =>
    new StemmaError(stemmaCode, details, text, { cause: error });
  if (code === PARENT_NOT_FOUND) return noParent({ parentId: detail }, { cause: error });
  if (code === SESSION_OWNED) return owned(detail, { cause: error });
  if (code === SESSION_LIMIT) return fail("SESSION_LIMIT", `${message}.`);
  if (CLOSED_MESSAGE.test(`${code} ${message}`)) {
    return fail("STORE_CLOSED", "The connection of this store was closed; open a new one.");
  }
  if (["lost", "unreached"].includes(failureOf(error))) {
    // A call that is tried again may have been stored by a connection that was there before.
    const what = UNREACHABLE.has(code)
      ? `The database does not answer (${message}): check its address, and that it runs. If it answered before, look`
      : `The connection to the database was lost (${message}). Look`;
    return fail("CONNECTION_LOST", `${what} before writing it again: a write may have been stored.`);
  }
  if (code === "55P03" || code === "40P01" || code === "40001") {
    return fail("STORE_LOCKED", "Other connections kept the session's rows locked. Try again.");
  }
  if (code === "22021" || code === "22P05") {
    return fail("INVALID_TEXT", "A text holds NUL or half a surrogate pair, which the database cannot keep.");
  }
  if (code === INSUFFICIENT_PRIVILEGE) {
    const advice = /row-level security/.test(message)
      ? "A policy of row-level security keeps this role from the row."
      : "Grant the role USAGE on the schema, and SELECT, INSERT, UPDATE and DELETE on the tables.";
    return fail("STORE_FAILED", `The database refused: ${message}. ${advice}`);
  }
  if (code === READ_ONLY) {
    return fail("STORE_FAILED", `The database refused: ${message}. ${READ_ONLY_ADVICE}`);
  }
  if (code === "54000" || code === "53200" || /invalid (?:memory alloc request size|string length)/i.test(message)) {
    return fail("MESSAGE_TOO_LARGE", "The text is too large for one row of the database: shorten or split it.");
  }
  // The server says it in any language.
  const [name] = /\b(?:assistant|cf_agents)_\w+/.exec(message) ?? [];
  if (code === "42P01" && name !== undefined) return tablesMissing([name], "the store is open", { cause: error });
  if (code === "42883" && name !== undefined) {
    const text = `The function ${name} is missing, although the store is open. Another program dropped it, perhaps with the tables, a backup of the tables alone was restored, or the search path leads elsewhere. What \`npx stemma migrate --print\` prints makes the functions anew.`;
    return fail("TABLES_MISSING", text, { tables: [name] });
  }
  return fail("STORE_FAILED", `The database refused: ${message}`);
}

/** Advice about a database that takes no writes. */
export const READ_ONLY_ADVICE =
  "It is a replica, or default_transaction_read_only is on for it or for this role. Connect to the primary, or switch that off.";

const INSUFFICIENT_PRIVILEGE = "42501";
const READ_ONLY = "25006";

/** SQLSTATEs that our own functions raise. */
export const PARENT_NOT_FOUND = "ST001";
export const SESSION_LIMIT = "ST002";
export const SESSION_OWNED = "ST003";

function partsOf(error: unknown): { code: string; message: string; detail: string } {
  if (typeof error !== "object" || error === null) return { code: "", message: String(error), detail: "" };
  const { code, errno, message, detail } = error as Record<"code" | "errno" | "message" | "detail", unknown>;
  const text = (value: unknown) => (typeof value === "string" ? value : "");
  // Bun.SQL has a code of its own, and the server's as a number.
  const sqlstate = code === "ERR_POSTGRES_SERVER_ERROR" ? String(errno) : text(code);
  return { code: sqlstate, message: text(message), detail: text(detail) };
}

/** The error for a client whose transactions end with each statement, or that only stands in for one. */
export function apart(): StemmaError {
  const message =
    "This client does not keep a transaction from one statement to the next, so a write could be stored in part. Pass one that keeps a connection: a Pool of pg, or of @neondatabase/serverless instead of neon().";
  return new StemmaError("STORE_UNSUPPORTED", {}, message);
}

/** The error for a client that nobody has connected: its statements would wait for ever. */
export function notConnected(): StemmaError {
  const message = "This client of pg is not connected: await client.connect() before you call the store.";
  return new StemmaError("STORE_UNSUPPORTED", {}, message);
}

/** The error for a database whose encoding has no room for every character. */
export function unfitEncoding(encoding: string): StemmaError {
  const message = `The database's encoding is ${encoding}, which cannot keep every text. Use a database that was made with ENCODING 'UTF8'.`;
  return new StemmaError("STORE_UNSUPPORTED", { encoding }, message);
}

/** The error for a client that gives rows, but not of which types their columns are. */
export function untyped(): StemmaError {
  const message = "This version of Bun.SQL does not tell the types of columns. Use a newer Bun, or a Pool of pg.";
  return new StemmaError("STORE_UNSUPPORTED", {}, message);
}

/** False for text that no row can hold. */
export function isStorable(value: SqlValue): boolean {
  return typeof value !== "string" || (value.isWellFormed() && !value.includes("\0"));
}
