import { beginWork, isTurnDue, turn } from "../../event-loop.js";
import type { Breaks } from "../engine/runner.js";
import type { SqliteClient } from "./client.js";

// A module may refuse to tell of a database that its program closed.
function isInTransaction(client: SqliteClient): boolean {
  try {
    return (client.inTransaction ?? client.isTransaction) === true;
  } catch {
    return false;
  }
}

/**
 * SQLite works while it is called, and what is awaited then is there already: a program that makes one call after the other would
 * keep timers and sockets waiting until it is done. So a call is now and then answered a turn of the event loop later; its work is
 * done at once all the same. Not in a transaction that the program began, into which others would write.
 */
export function breaksOf(client: SqliteClient): Breaks {
  return {
    begin: beginWork,
    due: (isClosed) => (isTurnDue() && (isClosed || !isInTransaction(client)) ? turn() : null),
  };
}
