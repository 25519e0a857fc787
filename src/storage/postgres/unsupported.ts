import { StemmaError } from "../../errors.js";

/** The error for a client that makes each statement a transaction by itself. */
export function apart(): StemmaError {
  const message =
    "This client runs each statement as a transaction of its own, so a write could be stored in part. Pass one that keeps a connection: a Pool of pg, or of @neondatabase/serverless instead of neon().";
  return new StemmaError("STORE_UNSUPPORTED", {}, message);
}

/** The error for a database whose encoding has no room for every character. */
export function unfitEncoding(encoding: string): StemmaError {
  const message = `The database's encoding is ${encoding}, which cannot keep every text. Use a database that was made with ENCODING 'UTF8'.`;
  return new StemmaError("STORE_UNSUPPORTED", { encoding }, message);
}
