import { accessSync, closeSync, constants, existsSync, mkdirSync, openSync, readSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, sep } from "node:path";
import { invalid } from "@stemma/model";
import { postgres } from "@stemma/postgres/postgres";
import type { EmbeddableStore, Store } from "@stemma/store";
import { isForeign, sqlite } from "@stemma/store/sqlite";
import { Option } from "commander";

/** How a SQLite file begins that is not encrypted. */
const HEADER = "SQLite format 3\0";

export interface DatabaseOptions {
  /** The path of a SQLite file, or a URL of Postgres. */
  db?: string;
  schema?: string;
  /** Spreads the tables over the servers of a cluster of Citus. */
  citus?: boolean;
}

/** The database of the command line, as it is shown: a URL without its password, a path in the user's home from `~` on. */
export function databaseName({ db }: DatabaseOptions): string {
  const place = placeOf(db);
  if (isUrl(place)) return hidePasswords(place);
  const home = `${homedir()}${sep}`;
  return place.startsWith(home) ? `~${sep}${place.slice(home.length)}` : place;
}

/** False for a file that is not there yet. */
export function isThere({ db }: DatabaseOptions): boolean {
  const place = placeOf(db);
  return isUrl(place) || existsSync(place);
}

/** Throws `INVALID_ARGUMENT` for a file that is not there yet, and as `assertOurs` does. */
export function assertThere(options: DatabaseOptions): void {
  if (isThere(options)) {
    assertOurs(options);
    return;
  }
  const db = databaseName(options);
  const message = `There is no database ${db}. Name another one with --db or STEMMA_DB; \`stemma chat\` and \`stemma import\` make one.`;
  throw invalid(message, { db });
}

/** Throws `INVALID_ARGUMENT` for a SQLite file of another program: to open it as a store would add our tables. */
export function assertOurs(options: DatabaseOptions): void {
  const place = placeOf(options.db);
  if (isUrl(place) || !statSync(place).isFile() || !isForeign(place, keyOf(place))) return;
  const db = databaseName(options);
  const message = `The database ${db} is another program's: it has no sessions of Stemma. Name another one with --db or STEMMA_DB.`;
  throw invalid(message, { db });
}

/**
 * Opens the database: `--db`, else `STEMMA_DB`, else `~/.stemma/sessions.db`. A file's folder is made with mode 0700 if it
 * is not there. Errors: `INVALID_ARGUMENT` for a place that can hold no file; those of `sqlite()` and `postgres()`.
 */
export function openDatabase({ db, schema, citus }: DatabaseOptions): EmbeddableStore {
  const place = placeOf(db);
  if (isUrl(place)) return postgres(place, { schema, citus });
  if (schema !== undefined) {
    const message = "A SQLite file has no schemas: name a database of Postgres with --db, or leave --schema out.";
    throw invalid(message, { schema });
  }
  if (citus === true) {
    const message =
      "A SQLite file is on one machine: name the coordinator of a cluster with --db, or leave --citus out.";
    throw invalid(message, { citus });
  }
  if (place !== ":memory:") prepareFile(place);
  return sqlite(place, { key: keyOf(place) });
}

/** The path or the URL of a database: what the option says, else `STEMMA_DB`, else the usual file. */
export function placeOf(option: string | undefined): string {
  return option ?? (process.env.STEMMA_DB || join(homedir(), ".stemma", "sessions.db"));
}

/** `STEMMA_KEY`, for a file that is encrypted, or that is not there yet. */
function keyOf(place: string): string | undefined {
  const key = process.env.STEMMA_KEY || undefined;
  return key === undefined || place === ":memory:" || isPlain(place) ? undefined : key;
}

/** Throws `INVALID_ARGUMENT` for a file that is no database: it has other bytes, and there is no key by which they were encrypted. */
export function assertDatabase(place: string): void {
  if (isPlain(place) || process.env.STEMMA_KEY || (existsSync(place) && statSync(place).size === 0)) return;
  throw invalid(`The file ${databaseName({ db: place })} is no database. If it is encrypted, set STEMMA_KEY.`, {
    db: place,
  });
}

// Before a store has it open: to open and close a file ends the locks of this process on it.
function isPlain(path: string): boolean {
  if (!existsSync(path)) return false;
  const file = openSync(path, "r");
  try {
    const start = Buffer.alloc(HEADER.length);
    readSync(file, start, 0, HEADER.length, 0);
    return start.toString("latin1") === HEADER;
  } finally {
    closeSync(file);
  }
}

function prepareFile(path: string): void {
  const refuse = (why: string, cause?: unknown) => {
    const message = `The database "${path}" cannot be opened: ${why}. Name another file with --db or STEMMA_DB.`;
    return invalid(message, { db: path }, { cause });
  };
  const folder = dirname(path);
  try {
    makeFolder(folder);
  } catch (error) {
    throw refuse(`its folder cannot be made (${reason(error)})`, error);
  }
  if (!statSync(folder).isDirectory()) throw refuse(`"${folder}" is no folder`);
  const isThere = existsSync(path);
  if (isThere && statSync(path).isDirectory()) throw refuse("it is a folder");
  try {
    accessSync(isThere ? path : folder, isThere ? constants.R_OK : constants.W_OK);
  } catch (error) {
    throw refuse(`you may not ${isThere ? "read it" : "make it there"} (${reason(error)})`, error);
  }
}

// One by one: where no folder can be made (/proc), Node's own way tries for ever.
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  mkdirSync(path, { mode: 0o700 });
}

/** `EACCES: permission denied, mkdir '/x'` without the call. */
function reason(error: unknown): string {
  return error instanceof Error ? (error.message.split(",")[0] ?? "") : String(error);
}

export function isUrl(place: string): boolean {
  return /^postgres(?:ql)?:\/\//.test(place);
}

/** True for a URL that holds a password, before the host or as a parameter. */
export function hasPassword(place: string): boolean {
  return isUrl(place) && hidePasswords(place) !== place;
}

/** A text in which `***` stands for the passwords of URLs. */
export function hidePasswords(text: string): string {
  return text
    .replace(/(\bpostgres(?:ql)?:\/\/[^:@/?\s"']*):[^@/\s"']+@/g, "$1:***@")
    .replace(/(\bpostgres(?:ql)?:\/\/[^\s"']{0,2000}[?&]password=)[^&\s"']+/g, "$1***");
}

export interface LocalOptions {
  /** The folder of a model, or its name on the hub; true for the one that is used where none is named. */
  local?: string | true;
}

/** `--local`, of the commands that search. */
export function localOption(): Option {
  const description = "search with a model on this machine, of this folder; default: all-MiniLM-L6-v2, fetched once";
  return new Option("--local [folder]", description);
}

/** Opens the database; with `--local`, its searches use a model. Errors: those of `openDatabase()` and `localModel()`. */
export async function openLocal({ local, ...options }: DatabaseOptions & LocalOptions): Promise<Store> {
  const store = openDatabase(options);
  try {
    const search = await localSearch(local);
    return search(store);
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Gives stores the model of `--local`, one for all of them; without it they stay as they are. Errors: those of `localModel()`. */
export async function localSearch(local: LocalOptions["local"]): Promise<(store: EmbeddableStore) => Store> {
  if (local === undefined) return (store) => store;
  const { localModel } = await import("@stemma/local");
  const model = await localModel(local === true ? {} : { model: local });
  return (store) => {
    // A cross-encoder makes no vectors.
    const embedded = model.dimensions === null ? store : store.withEmbedder(model.embedder());
    return embedded.withReranker(model.reranker());
  };
}
