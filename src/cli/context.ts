import type { Command } from "commander";
import { SessionManager } from "../manager/session-manager.js";
import { memory } from "../memory.js";
import type { Store } from "../storage/contract.js";
import type { Io } from "./io.js";
import { type DatabaseOptions, databaseName, isThere, openDatabase } from "./open-database.js";

/** What a command works with. */
export interface CommandContext {
  store: Store;
  manager: SessionManager;
  io: Io;
  /** Write JSON. */
  json: boolean;
}

/**
 * Opens the database, does the work and closes it. A command that only reads does not make a file that is not there:
 * it finds no sessions.
 */
export async function withStore(
  command: Command,
  io: Io,
  access: "read" | "write",
  work: (context: CommandContext) => Promise<void>,
): Promise<void> {
  const { json = false, ...options } = command.optsWithGlobals<DatabaseOptions & { json?: boolean }>();
  const opens = access === "write" || isThere(options);
  if (!opens && !json) io.writeError(`stemma: there is no database ${databaseName(options)}\n`);
  const store = opens ? openDatabase(options) : memory();
  try {
    await work({ store, manager: SessionManager.create(store), io, json });
  } finally {
    await store.close();
  }
}

/** Writes a value as one line of JSON. */
export function writeJson(io: Io, value: unknown): Promise<void> {
  return io.write(`${JSON.stringify(value)}\n`);
}
