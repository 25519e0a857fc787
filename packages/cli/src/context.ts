import { userInfo } from "node:os";
import { invalid, reasonOf } from "@stemma/model";
import { SessionManager } from "@stemma/session";
import type { Store } from "@stemma/store";
import type { Command } from "commander";
import type { Io } from "./io.js";
import { assertThere, type DatabaseOptions, type LocalOptions, openLocal } from "./open-database.js";

export interface CommandContext {
  store: Store;
  manager: SessionManager;
  io: Io;
  json: boolean;
}

/**
 * Opens the database, does the work and closes it. Only a command that brings something to store makes a file that is not
 * there (`make`). Errors: `INVALID_ARGUMENT` for a file that is not there, those of `openLocal`, and those of the work.
 */
export async function withStore(
  command: Command,
  io: Io,
  ifMissing: "fail" | "make",
  work: (context: CommandContext) => Promise<void>,
): Promise<void> {
  const { json = false, ...options } = command.optsWithGlobals<DatabaseOptions & LocalOptions & { json?: boolean }>();
  if (ifMissing === "fail") assertThere(options);
  const store = await openLocal(options);
  try {
    await work({ store, manager: SessionManager.create(store), io, json });
  } finally {
    await store.close();
  }
}

export function writeJson(io: Io, value: unknown): Promise<void> {
  return io.write(`${JSON.stringify(value)}\n`);
}

/** Who uses the command line: `STEMMA_USER`, else the name of the user of this machine, else `local`. */
export function localUser(): string {
  if (process.env.STEMMA_USER) return process.env.STEMMA_USER;
  try {
    return userInfo().username;
  } catch {
    // A container can run as a user that has no name.
    return "local";
  }
}

/**
 * Reads variables of the environment from a file of lines like `NAME=value`. Those that are set stay as they are.
 * Errors: `INVALID_ARGUMENT` for a file that cannot be read.
 */
export function loadVariables(path: string): void {
  try {
    process.loadEnvFile(path);
  } catch (error) {
    throw invalid(`The file of --dotenv cannot be read: ${reasonOf(error)}`, { path }, { cause: error });
  }
}
