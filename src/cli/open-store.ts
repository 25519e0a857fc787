import { mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { sqlite } from "../sqlite.js";
import type { Store } from "../storage/contract.js";

/** The database of the command line: `--db`, else `STEMMA_DB`, else `~/.stemma/sessions.db`. */
export function databasePath(option: string | undefined): string {
  return option ?? (process.env.STEMMA_DB || join(homedir(), ".stemma", "sessions.db"));
}

/** Opens it; its folder is made with mode 0700 if it is not there. Errors: those of `sqlite()`. */
export function openStore(option: string | undefined): Store {
  const path = databasePath(option);
  if (path !== ":memory:") mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  return sqlite(path);
}
