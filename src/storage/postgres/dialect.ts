import { fromBase64, toBase64 } from "../../model/base64.js";
import type { Dialect } from "../engine/dialect.js";
import { all, run } from "../engine/operation.js";
import type { PostgresMigration } from "./migration.js";
import { POSTGRES_MIGRATIONS } from "./migrations/index.js";
import { qualify } from "./names.js";
import { postgresNative } from "./native-operations.js";
import type { Placement } from "./placement.js";
import { migratePostgres } from "./schema.js";
import { postgresSearch } from "./search.js";

/** A row is sent and kept whole, with its text beside its content, and must stay below a gigabyte. */
const MAX_TEXT_BYTES = 200_000_000;

/** Postgres 13 and later, over any client. */
export function postgresDialect(
  schema: string | null,
  migrations: readonly PostgresMigration[] = POSTGRES_MIGRATIONS,
  placement: Placement = { isSpread: false, isApart: false, code: null },
  spreads = false,
): Dialect {
  const dialect: Dialect = {
    name: "postgres",
    maxTextBytes: MAX_TEXT_BYTES,
    search: postgresSearch(placement),
    // From text: some clients would write a string to JSON once more.
    segmentTable: `(SELECT (value->>0)::int AS branch, (value->>1)::bigint AS lo, (value->>2)::bigint AS hi, value->>3 AS owner FROM json_array_elements(?::text::json) AS value)`,
    textTable: "(SELECT value AS text FROM json_array_elements_text(?::text::json) AS value)",
    segmentOrder: " ORDER BY m.n",
    byteLength: (text) => `octet_length(${text})`,
    dayOf: (time) => `to_char(${time} AT TIME ZONE 'UTC', 'YYYY-MM-DD')`,
    keepsText: true,
    namesSessions: true,
    countsSessions: false,
    get isSpread() {
      return placement.isSpread;
    },
    isInProcess: false,
    namesKeys: false,
    serverTime: "CAST(floor(extract(epoch FROM statement_timestamp()) * 1000) AS bigint)",
    // As text: clients have types of their own for bytes.
    bytes: {
      bound: "decode(?::text, 'base64')",
      read: (column) => `encode(${column}, 'base64')`,
      ordered: (column) => `${column} COLLATE "C"`,
      encode: toBase64,
      decode: (value) => fromBase64(String(value)),
    },
    hasField: (column, name, value) =>
      value === null
        ? { condition: `NOT jsonb_exists(${column}::jsonb, ?)`, values: [name] }
        : { condition: `${column}::jsonb @> ?::text::jsonb`, values: [JSON.stringify({ [name]: value })] },
    forUpdate: " FOR UPDATE",
    lockSession: (sessionId) => run("SELECT assistant_lock(?)", sessionId),
    markEdited: ({ id }, rowId) => run("SELECT assistant_edited(?, ?)", id, rowId),
    *columns(table) {
      const query =
        "SELECT attname AS name FROM pg_attribute WHERE attrelid = to_regclass(?) AND attnum > 0 AND NOT attisdropped";
      const rows = yield* all<{ name: string }>(query, qualify(table, schema));
      return rows.map(({ name }) => name);
    },
    native: postgresNative(placement),
    migrate: () => migratePostgres(dialect, schema, migrations, placement, spreads),
  };
  return dialect;
}
