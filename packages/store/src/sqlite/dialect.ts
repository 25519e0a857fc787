import type { SearchSettings } from "../contract/found.js";
import type { MetadataValue } from "../contract/store.js";
import type { Dialect, SearchDialect } from "../engine/dialect.js";
import type { Migration } from "../engine/migrations.js";
import { all, type Condition } from "../engine/operation.js";
import { sqliteSearch } from "./full-text.js";
import { SQLITE_MIGRATIONS } from "./migrations/index.js";
import { migrateSqlite } from "./schema.js";

export interface SqliteDialectOptions {
  readonly name: string;
  /** Bytes that one column takes; without a limit of its own a file of SQLite takes a gigabyte. */
  readonly maxTextBytes: number;
  readonly search: boolean | SearchSettings;
  /** Passed on to `SearchDialect`. Default false: where written rows are paid for, a note is one more. */
  readonly indexesLater?: boolean;
  /** Default: those of this version of the program. */
  readonly migrations?: readonly Migration[] | undefined;
}

function searchOf({ search, maxTextBytes, indexesLater = false }: SqliteDialectOptions): SearchDialect | null {
  return search === false ? null : sqliteSearch(maxTextBytes, indexesLater, search !== true && search.tools === true);
}

/** SQLite, wherever it runs: a file, memory, a Durable Object. */
export function sqliteDialect(options: SqliteDialectOptions): Dialect {
  const dialect: Dialect = {
    name: options.name,
    maxTextBytes: options.maxTextBytes,
    search: searchOf(options),
    // The LIMIT keeps SQLite from taking the JSON apart for every row that is compared with it.
    segmentTable: `(SELECT json_extract(value, '$[0]') AS branch, json_extract(value, '$[1]') AS lo, json_extract(value, '$[2]') AS hi FROM json_each(?) LIMIT -1)`,
    textTable: "(SELECT value AS text FROM json_each(?) LIMIT -1)",
    // A CROSS JOIN is made from the left; to sort would carry every content along.
    segmentOrder: "",
    // octet_length is younger than the oldest SQLite that there is.
    byteLength: (text) => `length(CAST(${text} AS BLOB))`,
    dayOf: (time) => `substr(${time}, 1, 10)`,
    layout: "local",
    serverTime: null,
    bytes: {
      bound: "?",
      read: (column) => column,
      ordered: (column) => column,
      encode: (bytes) => bytes,
      decode: (value) => (value instanceof ArrayBuffer ? new Uint8Array(value) : Uint8Array.from(value as Uint8Array)),
    },
    hasField,
    forUpdate: "",
    lockSession: null,
    markEdited: null,
    markEntry: null,
    *columns(table) {
      return (yield* all<{ name: string }>("SELECT name FROM pragma_table_info(?)", table)).map(({ name }) => name);
    },
    migrate: () => migrateSqlite(dialect, options.migrations ?? SQLITE_MIGRATIONS),
  };
  return dialect;
}

// A field by itself, not by a path: its name may hold whatever a path is made of.
function hasField(column: string, name: string, value: MetadataValue): Condition {
  const field = `SELECT 1 FROM json_each(${column}) WHERE key = ?`;
  if (value === null) return { condition: `NOT EXISTS (${field})`, values: [name] };
  if (typeof value === "boolean") return { condition: `EXISTS (${field} AND type = '${value}')`, values: [name] };
  const types = typeof value === "string" ? "'text'" : "'integer', 'real'";
  return { condition: `EXISTS (${field} AND type IN (${types}) AND atom = ?)`, values: [name, value] };
}
