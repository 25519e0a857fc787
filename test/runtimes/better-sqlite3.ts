import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Stands for better-sqlite3 in the tests, over node:sqlite, where the Node at hand is another one than the native module was
 * built for (see vitest.config.ts). Only what the tests use of it.
 */
export default class Database {
  /** What only the native module can do is not tested with this one; see `stand-in.ts`. */
  static readonly isStandIn = true;
  readonly #database: DatabaseSync;
  #isOpen = true;

  constructor(source: string | Uint8Array, options: { readonly?: boolean } = {}) {
    const path = typeof source === "string" ? source : fileOf(source);
    const { DatabaseSync } = createRequire(import.meta.url)("node:sqlite") as { DatabaseSync: DatabaseSyncClass };
    this.#database = new DatabaseSync(path, { readOnly: options.readonly ?? false });
    this.exec("PRAGMA busy_timeout = 5000");
  }

  get inTransaction(): boolean {
    return this.#database.isTransaction;
  }

  prepare(sql: string): Statement {
    return new Statement(this.#database.prepare(sql), sql);
  }

  exec(sql: string): this {
    this.#database.exec(sql);
    return this;
  }

  pragma(text: string, options: { simple?: boolean } = {}): unknown {
    const statement = this.prepare(`PRAGMA ${text}`);
    return options.simple ? statement.pluck().get() : statement.all();
  }

  /** The function that it gives runs `work` in a transaction; its `immediate` takes the write lock at once. */
  transaction<A extends unknown[], T>(work: (...given: A) => T) {
    const begunWith =
      (begin: string) =>
      (...given: A): T => {
        const nested = this.inTransaction;
        this.exec(nested ? "SAVEPOINT nested" : begin);
        try {
          const result = work(...given);
          this.exec(nested ? "RELEASE nested" : "COMMIT");
          return result;
        } catch (error) {
          this.exec(nested ? "ROLLBACK TO nested; RELEASE nested" : "ROLLBACK");
          throw error;
        }
      };
    return Object.assign(begunWith("BEGIN"), { immediate: begunWith("BEGIN IMMEDIATE") });
  }

  /** A copy of the database, as a file's bytes. */
  serialize(): Buffer {
    const path = newFile();
    this.exec(`VACUUM INTO '${path}'`);
    return readFileSync(path);
  }

  // As the native module does, it takes one that is closed already.
  close(): this {
    if (this.#isOpen) this.#database.close();
    this.#isOpen = false;
    return this;
  }
}

function newFile(): string {
  return join(mkdtempSync(join(tmpdir(), "stemma-bytes-")), "copy.db");
}

function fileOf(bytes: Uint8Array): string {
  const path = newFile();
  writeFileSync(path, bytes);
  return path;
}

class Statement {
  #plucks = false;

  constructor(
    private readonly statement: StatementSync,
    readonly source: string,
  ) {}

  get reader(): boolean {
    return this.statement.columns().length > 0;
  }

  pluck(plucks = true): this {
    this.#plucks = plucks;
    return this;
  }

  raw(): this {
    this.statement.setReturnArrays(true);
    return this;
  }

  all(...values: unknown[]): unknown[] {
    return this.#rows(values).map((row) => this.#shape(row));
  }

  // The native module gives a whole number beyond 2^53 as the nearest number.
  #rows(values: unknown[]): object[] {
    try {
      return this.statement.all(...values);
    } catch (error) {
      if ((error as { code?: unknown }).code !== "ERR_OUT_OF_RANGE") throw error;
    }
    this.statement.setReadBigInts(true);
    const rows = this.statement.all(...values);
    this.statement.setReadBigInts(false);
    for (const row of rows as Record<string, unknown>[]) {
      for (const [name, value] of Object.entries(row)) if (typeof value === "bigint") row[name] = Number(value);
    }
    return rows;
  }

  get(...values: unknown[]): unknown {
    const row = this.statement.get(...values);
    return row === undefined ? undefined : this.#shape(row);
  }

  run(...values: unknown[]): unknown {
    this.statement.setReadBigInts(true);
    return this.statement.run(...values);
  }

  #shape(row: object): unknown {
    // Rows of node:sqlite have no prototype, by which a test would tell them apart.
    return this.#plucks ? Object.values(row)[0] : Array.isArray(row) ? row : { ...row };
  }
}

// Of node:sqlite, which the types of the oldest Node do not know.
type DatabaseSyncClass = new (path: string, options: { readOnly: boolean }) => DatabaseSync;

interface DatabaseSync {
  readonly isTransaction: boolean;
  prepare(sql: string): StatementSync;
  exec(sql: string): void;
  close(): void;
}

interface StatementSync {
  all(...values: unknown[]): object[];
  get(...values: unknown[]): object | undefined;
  run(...values: unknown[]): unknown;
  columns(): unknown[];
  setReturnArrays(on: boolean): void;
  setReadBigInts(on: boolean): void;
}
