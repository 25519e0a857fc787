import { StemmaError } from "../../errors.js";

/** The error for a client whose transactions end with each statement, or that only stands in for one. */
export function apart(): StemmaError {
  const message =
    "This client does not keep a transaction from one statement to the next, so a write could be stored in part. Pass one that keeps a connection: a Pool of pg, or of @neondatabase/serverless instead of neon().";
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
