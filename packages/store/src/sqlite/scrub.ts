import { perObject, Queue, StemmaError } from "@stemma/model";
import type { Residue, ScrubOptions } from "../contract/store.js";
import type { Dialect } from "../engine/dialect.js";
import { all, column, type Operation, run } from "../engine/operation.js";
import type { Runner } from "../engine/runner.js";
import type { Waiting } from "./client.js";
import { emptySearchTables, findSearchTables, mergeSearchTable, SEARCH_TABLES } from "./schema.js";

/** How long it waits for other connections, in milliseconds: a reader that stays would hold up the whole process. */
const WAIT = 200;

// Makes the search index anew without the terms of what was deleted, which it keeps until its parts are merged.
async function scrubIndex(runner: Runner, sql: Dialect): Promise<void> {
  // An index that nobody keeps up to date is made anew before it is used again.
  if (sql.search === null) {
    return runner.write(function* () {
      if ((yield* findSearchTables()).length > 0) yield* emptySearchTables();
    });
  }
  for (const table of SEARCH_TABLES) {
    for (let begins = true; await runner.write(() => mergeSearchTable(table, begins)); begins = false) {
      // Others are served between two steps.
      await new Promise((resolve) => setTimeout(resolve));
    }
  }
}

/** Those of one connection that are under way: each puts back how long it waits for others. */
const scrubbing = perObject((_waiting: Waiting) => new Queue());

/** Scrubs a database in a file, as `Store.scrub` promises. */
export function scrubFile(waiting: Waiting, ...rest: [Runner, Dialect, ScrubOptions]): Promise<Residue> {
  return scrubbing(waiting).write("", () => scrubAlone(waiting, ...rest));
}

async function scrubAlone(
  waiting: Waiting,
  runner: Runner,
  sql: Dialect,
  { maxBytes }: ScrubOptions,
): Promise<Residue> {
  const bytes = "SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size";
  const [size = 0] = await runner.single(() => column<number>(bytes));
  if (maxBytes !== undefined && size > maxBytes) return "pending";
  const [timeout = 0] = await runner.single(() => column<number>("PRAGMA busy_timeout"));
  const { patience } = waiting;
  try {
    waiting.patience = Math.min(WAIT, patience);
    await runner.single(() => column(`PRAGMA busy_timeout = ${Math.min(WAIT, Math.max(timeout, patience))}`));
    await scrubIndex(runner, sql);
    // Only a file that is written anew holds nothing else: moving rows leaves copies in the unused part of pages.
    await runner.single(() => run("VACUUM"));
    return await runner.single(emptyLog);
  } catch (error) {
    if (isInUse(error)) return "pending";
    throw error;
  } finally {
    waiting.patience = patience;
    await runner.single(() => column(`PRAGMA busy_timeout = ${timeout}`));
  }
}

/** About how many bytes of a database come with an indexed message. */
const BYTES_OF_A_MESSAGE = 1000;

/** Scrubs a database whose files are its host's: what those hold is not known. */
export async function scrubObject(runner: Runner, sql: Dialect, { maxBytes }: ScrubOptions): Promise<Residue> {
  const most = Math.floor((maxBytes ?? 0) / BYTES_OF_A_MESSAGE);
  const isLarge = () => column<number>("SELECT 1 FROM assistant_messages LIMIT 1 OFFSET ?", most);
  if (maxBytes === undefined || (await runner.single(isLarge)).length === 0) await scrubIndex(runner, sql);
  return "unknown";
}

// What was written to the file stands in its log as well, until no reader needs it.
function* emptyLog(): Operation<Residue> {
  const [mode] = yield* column<string>("PRAGMA journal_mode");
  if (mode !== "wal") return mode === "persist" ? "pending" : "none";
  const [checkpoint] = yield* all<{ busy: number }>("PRAGMA wal_checkpoint(TRUNCATE)");
  return checkpoint?.busy === 0 ? "none" : "pending";
}

// By another connection, or by a transaction or a read of the program's own.
function isInUse(error: unknown): boolean {
  if (StemmaError.isInstance(error, "STORE_LOCKED")) return true;
  return StemmaError.isInstance(error, "STORE_FAILED") && /cannot VACUUM/.test(error.message);
}
