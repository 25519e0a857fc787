import type { EncodedMessage } from "@stemma/model";
import { fromBase64, toBase64 } from "@stemma/model";
import type { Appended, Dialect, NativeOperations, ParentRef, SearchSettings } from "@stemma/store";
import { all, appendMessages, importMessages, type Operation, run } from "@stemma/store";
import { appendRow, appendRows, attachmentTo, resultOf, rowOf } from "./append/append.js";
import type { Placement } from "./citus/placement.js";
import { isMessageId, readPath, readRecent } from "./path/read-path.js";
import { postgresSearch } from "./search/search-sql.js";
import type { PostgresMigration } from "./tables/migration.js";
import { POSTGRES_MIGRATIONS } from "./tables/migrations/index.js";
import { qualify } from "./tables/names.js";
import { migratePostgres } from "./tables/schema.js";

/** A row is sent and stored whole, with its text beside its content, and must stay below a gigabyte. */
const MAX_TEXT_BYTES = 200_000_000;

/** Postgres 13 and later, over any client. */
export function postgresDialect(
  schema: string | null,
  migrations: readonly PostgresMigration[] = POSTGRES_MIGRATIONS,
  placement: Placement = { isSpread: false, isApart: false, code: null },
  { citus = false, search = {} }: { citus?: boolean | undefined; search?: SearchSettings | undefined } = {},
): Dialect {
  const dialect: Dialect = {
    name: "postgres",
    maxTextBytes: MAX_TEXT_BYTES,
    search: postgresSearch(placement, search.tools === true),
    // From text: some clients would write a string to JSON once more.
    segmentTable: `(SELECT (value->>0)::int AS branch, (value->>1)::bigint AS lo, (value->>2)::bigint AS hi, value->>3 AS owner FROM json_array_elements(?::text::json) AS value)`,
    textTable: "(SELECT value AS text FROM json_array_elements_text(?::text::json) AS value)",
    segmentOrder: " ORDER BY m.n",
    byteLength: (text) => `octet_length(${text})`,
    dayOf: (time) => `to_char(${time} AT TIME ZONE 'UTC', 'YYYY-MM-DD')`,
    get layout() {
      return placement.isSpread ? "spread" : "server";
    },
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
    markEntry: (sessionId, rowId) => run("SELECT assistant_entry_written(?, ?)", sessionId, rowId),
    *columns(table) {
      const query =
        "SELECT attname AS name FROM pg_attribute WHERE attrelid = to_regclass(?) AND attnum > 0 AND NOT attisdropped";
      const rows = yield* all<{ name: string }>(query, qualify(table, schema));
      return rows.map(({ name }) => name);
    },
    native: postgresNative(placement),
    migrate: () => migratePostgres(dialect, schema, migrations, placement, citus),
  };
  return dialect;
}

/** A message of more characters goes to the database in parts. */
const MAX_APPENDED = 32_000_000;
/** Messages, and characters of them, that one statement writes: its JSON is made in one piece. */
const MOST_MESSAGES = 500;
const MOST_TEXT = 4_000_000;

/** Appends and histories in one round trip each, by the functions of the database in `sql/`. */
const postgresNative = (placement: Placement): NativeOperations => ({
  mayAppend(messages, parent) {
    if (messages.length === 0 || !isMessageId(parent ?? "")) return false;
    const most = messages.length === 1 ? MAX_APPENDED : MOST_TEXT;
    return messages.reduce((size, message) => size + sizeOf(message), 0) <= most;
  },

  *append(sessionId, messages, parent, userId) {
    const [one, ...others] = messages as [EncodedMessage, ...EncodedMessage[]];
    if (others.length === 0) return resultOf(yield* appendRow(sessionId, rowOf(one, attachmentTo(parent)), userId));
    const rows = messages.map((message, index) =>
      rowOf(message, index === 0 ? attachmentTo(parent) : attachmentTo((messages[index - 1] as EncodedMessage).id)),
    );
    return resultOf(yield* appendRows(sessionId, rows, userId));
  },

  *path(sessionId, options, userId) {
    return placement.isApart ? null : yield* readPath(sessionId, options, userId);
  },

  *recent(sessionId, options, userId) {
    return placement.isApart ? null : yield* readRecent(sessionId, options, userId);
  },

  *appendList(sql, sessionId, messages, parent) {
    if (!isMessageId(parent ?? "")) return yield* appendMessages(sql, sessionId, messages, parent);
    const parentOf = (index: number) => (index === 0 ? parent : (messages[index - 1] as EncodedMessage).id);
    return yield* attachAll(
      sql,
      sessionId,
      messages.map((message, index) => ({ message, parent: parentOf(index) })),
    );
  },

  *importMessages(sql, sessionId, messages) {
    // The session is registered all the same.
    if (messages.length === 0) return yield* importMessages(sql, sessionId, messages);
    const attached = messages.map(({ message, parentId }) => ({ message, parent: parentId }));
    return (yield* attachAll(sql, sessionId, attached)).inserted.filter(Boolean).length;
  },
});

/** A message, and what it is attached to. */
interface Attached {
  readonly message: EncodedMessage;
  readonly parent: ParentRef;
}

function* attachAll(sql: Dialect, sessionId: string, messages: readonly Attached[]): Operation<Appended> {
  const inserted: boolean[] = [];
  let end: Appended = { inserted, lastId: null, visibleTokens: 0 };
  for (const some of batches(messages)) {
    const [{ message, parent }] = some;
    const rows = () => some.map((one) => rowOf(one.message, attachmentTo(one.parent)));
    end =
      sizeOf(message) > MAX_APPENDED
        ? yield* appendMessages(sql, sessionId, [message], parent)
        : resultOf(yield* appendRows(sessionId, rows(), undefined));
    inserted.push(...end.inserted);
  }
  return { ...end, inserted };
}

function sizeOf({ content, media }: EncodedMessage): number {
  return media.reduce((size, { data }) => size + data.length, content.length);
}

type Batch = readonly [Attached, ...Attached[]];

function* batches(messages: readonly Attached[]): Generator<Batch> {
  let start = 0;
  let size = 0;
  for (const [index, { message }] of messages.entries()) {
    const more = sizeOf(message);
    if (index > start && (index - start === MOST_MESSAGES || size + more > MOST_TEXT)) {
      yield messages.slice(start, index) as unknown as Batch;
      start = index;
      size = 0;
    }
    size += more;
  }
  if (start < messages.length) yield messages.slice(start) as unknown as Batch;
}
