import type { CheckRule } from "../contract/store.js";
import { PACK } from "../embeddings/signs.js";
import { SIGN_TABLES, type VectorTable } from "../embeddings/vector-bytes.js";
import type { Dialect } from "../engine/dialect.js";
import {
  all,
  column,
  first,
  type Operation,
  oneNumber,
  pause,
  run,
  type SqlValue,
  sameSession,
} from "../engine/operation.js";
import { endOf, factText, NO_FACT, parseFact } from "../operations/memory/entry-fact.js";
import { parseMessageIds } from "../operations/memory/versions.js";
import { watchEnds } from "../operations/messages/damage.js";
import { isoNow, makeRow } from "../operations/registry/session-head.js";
import { isScope, UPGRADED_ROWS } from "../sql/session-id.js";
import type { CheckDialect } from "./check-dialect.js";
import { type Findings, isJson, isText, isTime, isWhole } from "./findings.js";

/** A row that is kept beside the messages, by a session's id and by keys. What is damaged may be of any type. */
type KeyedRow<Column extends string = never> = Readonly<Record<Column, SqlValue>> & {
  readonly session_id: string;
  /** The number of its session; null where the registry has none. */
  readonly registered: number | null;
};

/** A table of such rows, and what holds for each. */
interface KeyedTable<Column extends string> {
  readonly table: string;
  readonly rule: CheckRule;
  readonly key: readonly ("session_id" | Column)[];
  readonly columns: readonly Column[];
  /** The name of a row in a report. */
  readonly idOf: (row: KeyedRow<Column>) => SqlValue;
  /** The rules for a row, each with the message of one that breaks it. */
  readonly rulesFor: (row: KeyedRow<Column>) => readonly (readonly [holds: boolean, message: string])[];
  /** Mends what can be without guessing at contents. `write` runs a statement for this row: the WHERE is put behind it. */
  readonly mend: (
    sql: Dialect,
    row: KeyedRow<Column>,
    write: (statement: string, ...values: SqlValue[]) => Operation<void>,
  ) => Operation<void>;
}

/** Looks at the rows of a session, or at all of a table, and mends them. */
export interface RowCheck {
  readonly table: string;
  check(sessionId: string | undefined, found: Findings): Operation<void>;
  repair(sql: Dialect, sessionId: string | undefined): Operation<void>;
}

export function rowCheck<Column extends string>(rows: KeyedTable<Column>): RowCheck {
  const { table, rule, key, idOf, rulesFor, mend } = rows;
  const where = `WHERE ${key.map((name) => `${name} = ?`).join(" AND ")}`;
  return {
    table,
    *check(sessionId, found) {
      const { looked, faulty } = yield* findFaulty(rows, sessionId);
      found.count(table, looked);
      for (const row of faulty) {
        for (const [holds, message] of rulesFor(row)) {
          if (!holds) found.add(rule, table, String(row.session_id), String(idOf(row)), message);
        }
      }
    },
    *repair(sql, sessionId) {
      for (const row of (yield* findFaulty(rows, sessionId)).faulty) {
        const keyValues = key.map((name) => row[name] as SqlValue);
        yield* mend(sql, row, (statement, ...values) => run(`${statement} ${where}`, ...values, ...keyValues));
      }
    },
  };
}

const PAGE = 64;

/** How many rows there are, and those with a fault. */
function* findFaulty<Column extends string>(
  { table, key, columns, rulesFor }: KeyedTable<Column>,
  sessionId: string | undefined,
): Operation<{ looked: number; faulty: KeyedRow<Column>[] }> {
  const names = [...key, ...columns].map((name) => `t.${name} AS ${name}`);
  const keyColumns = key.map((name) => `t.${name}`).join(", ");
  const faulty: KeyedRow<Column>[] = [];
  let looked = 0;
  let after: SqlValue[] = [];
  const endsAt = watchEnds();
  for (;;) {
    const conditions = ["1 = 1"];
    if (sessionId !== undefined) conditions.push("t.session_id = ?");
    if (after.length > 0) conditions.push(`(${keyColumns}) > (${after.map(() => "?").join(", ")})`);
    const rows: KeyedRow<Column>[] = yield* all<KeyedRow<Column>>(
      `SELECT ${names.join(", ")}, s.no AS registered
       FROM ${table} t LEFT JOIN assistant_sessions s ON s.id = t.session_id
       WHERE ${conditions.join(" AND ")} ORDER BY ${keyColumns} LIMIT ${PAGE}`,
      ...(sessionId === undefined ? [] : [sessionId]),
      ...after,
    );
    looked += rows.length;
    for (const row of rows) if (rulesFor(row).some(([holds]) => !holds)) faulty.push(row);
    const last = rows.at(-1);
    if (last === undefined) return { looked, faulty };
    after = key.map((name) => last[name] as SqlValue);
    endsAt(after);
    yield* pause();
  }
}

/**
 * True for a row whose session the registry lacks. The unnamed session has rows without one of its own; what `agents` wrote, and
 * what users have, stand below ids that no session has.
 */
export function needsSession({ session_id, registered }: KeyedRow): boolean {
  return session_id !== "" && session_id !== UPGRADED_ROWS && !isScope(String(session_id)) && registered === null;
}

const isKind = (kind: unknown) => kind === "block" || kind === "prompt";

export const BLOCKS = rowCheck({
  table: "cf_agents_context_blocks",
  rule: "block",
  key: ["session_id", "kind", "label"],
  columns: ["content", "version", "updated_at"],
  idOf: ({ label }) => label,
  rulesFor: (row) => [
    [!needsSession(row), "Its session is not in the registry."],
    [isKind(row.kind), "It is neither a block nor a prompt."],
    // A provider that a program made by hand without a label writes under none.
    [isText(row.label) && (row.kind !== "prompt" || row.label === ""), "Its name is none."],
    [isText(row.content), "Its content is no text."],
    [isWhole(row.version, 1), "Its version is no number from 1."],
    [isTime(row.updated_at), "When it was written is no time."],
  ],
  *mend(sql, row, write) {
    const set = (column: string, value: string | number) =>
      write(`UPDATE cf_agents_context_blocks SET ${column} = ?`, value);
    if (needsSession(row) && isText(row.session_id)) yield* makeRow(sql, row.session_id);
    if (!isWhole(row.version, 1)) yield* set("version", 1);
    if (!isTime(row.updated_at)) yield* set("updated_at", isoNow());
    if (isKind(row.kind) || !isText(row.label)) return;
    const kind = row.label === "" ? "prompt" : "block";
    const taken = "SELECT 1 FROM cf_agents_context_blocks WHERE session_id = ? AND kind = ? AND label = ?";
    if ((yield* first(taken, row.session_id, kind, row.label)) === undefined) yield* set("kind", kind);
  },
});

type DatedRow = KeyedRow<"valid_from" | "valid_to" | "expires_at" | "fact">;

// The times by which reads choose are those of the fact.
function isDated({ valid_from, valid_to, expires_at, fact: text }: DatedRow): boolean {
  const fact = parseFact(text as string | null);
  return (
    fact !== null && fact.validFrom === valid_from && endOf(fact).validTo === valid_to && fact.expiresAt === expires_at
  );
}

export const ENTRIES = rowCheck({
  table: "cf_agents_search_entries",
  rule: "entry",
  key: ["session_id", "label", "key"],
  columns: ["content", "value", "valid_from", "valid_to", "expires_at", "fact", "created_at", "updated_at"],
  idOf: ({ key }) => key,
  rulesFor: (row) => [
    [!needsSession(row), "Its session is not in the registry."],
    [isText(row.key) && row.key !== "", "Its name is none."],
    [isText(row.content), "Its content is no text."],
    [row.value === null || isJson(row.value), "Its value is no JSON."],
    [isTime(row.created_at) && isTime(row.updated_at), "When it was written is no time."],
    [isDated(row), "What it says of its times is none, or stands otherwise beside it."],
  ],
  *mend(sql, row, write) {
    if (needsSession(row) && isText(row.session_id)) yield* makeRow(sql, row.session_id);
    if (!isDated(row)) {
      const fact = parseFact(row.fact as string | null) ?? NO_FACT;
      const update = "UPDATE cf_agents_search_entries SET valid_from = ?, valid_to = ?, expires_at = ?, fact = ?";
      yield* write(update, fact.validFrom, endOf(fact).validTo, fact.expiresAt, factText(fact));
    }
    for (const column of ["created_at", "updated_at"] as const) {
      if (!isTime(row[column])) yield* write(`UPDATE cf_agents_search_entries SET ${column} = ?`, isoNow());
    }
  },
});

// Drivers of Postgres give a BIGINT as a text.
const isNumber = (value: unknown, least = Number.MIN_SAFE_INTEGER) => isWhole(Number(value), least);

const isVersion = (version: unknown) => isNumber(version, 1);
const isEnd = (time: unknown) => time === null || isNumber(time);

/** Bytes mean nothing to a store, so only what stands beside them can be wrong. */
export const RECORDS = rowCheck({
  table: "assistant_records",
  rule: "record",
  key: ["session_id", "label", "key"],
  columns: ["version", "expires_at"],
  idOf: ({ key }) => key,
  rulesFor: (row) => [
    [isText(row.session_id) && isText(row.label) && isText(row.key), "Its name is none."],
    [isVersion(row.version), "Its version is no number from 1."],
    [isEnd(row.expires_at), "When it goes is no time."],
  ],
  // Another version, and no end: whoever expects a version reads the record again.
  *mend(_sql, row, write) {
    if (isVersion(row.version) && isEnd(row.expires_at)) return;
    yield* write("UPDATE assistant_records SET version = 1, expires_at = NULL");
  },
});

type VersionRow = KeyedRow<"kind" | "label" | "key" | "version" | "content" | "written_at" | "author" | "message_ids">;

const AUTHORS: readonly unknown[] = ["model", "program", "learning", "import"];

/** True for a row that is no version at all. */
function isNone({ kind, label, key, version, content }: VersionRow): boolean {
  const isBlock = kind === "block" && key === "" && isText(content);
  const isEntry = kind === "entry" && isText(key) && (content === null || isText(content));
  return !(isText(label) && isWhole(Number(version), 1) && (isBlock || isEntry));
}

/** True for a version that says something impossible of itself. */
function isMisnoted({ written_at, author, message_ids }: VersionRow): boolean {
  const isAuthor = author === null || AUTHORS.includes(author);
  return !isTime(written_at) || !isAuthor || parseMessageIds(message_ids as string | null) === null;
}

/** A row that is no version is removed. What one says of itself is taken back where it cannot be; its text stays. */
export const VERSIONS = rowCheck({
  table: "assistant_versions",
  rule: "version",
  key: ["session_id", "kind", "label", "key", "version"],
  columns: ["content", "written_at", "author", "message_ids"],
  idOf: ({ kind, key, label }) => (kind === "entry" ? key : label),
  rulesFor: (row) => [
    [!needsSession(row), "Its session is not in the registry."],
    [!isNone(row), "It is no version of a block or an entry."],
    [!isMisnoted(row), "When it was written, by whom or of which messages is none."],
  ],
  *mend(sql, row, write) {
    if (isNone(row)) return yield* write("DELETE FROM assistant_versions");
    if (needsSession(row)) yield* makeRow(sql, row.session_id);
    if (!isMisnoted(row)) return;
    const writtenAt = isTime(row.written_at) ? row.written_at : isoNow();
    yield* write("UPDATE assistant_versions SET written_at = ?, author = NULL, message_ids = NULL", writtenAt);
  },
});

const VECTOR_TABLES: readonly (readonly [table: VectorTable, of: string])[] = [
  ["assistant_vectors", "assistant_messages"],
  ["assistant_entry_vectors", "cf_agents_search_entries"],
];

const orphanVectors = (sql: Dialect, table: string, of: string) =>
  `${table} WHERE NOT EXISTS (SELECT 1 FROM ${of} m WHERE ${sameSession(sql, "m", table)}m.n = ${table}.n)`;

/** Vectors of messages and entries that are not there, those of another length than the model's, and signs that are not theirs. */
export function* checkVectors(sql: Dialect, check: CheckDialect, found: Findings): Operation<void> {
  if ((yield* sql.columns("assistant_vectors")).length === 0) return;
  for (const [table, of] of VECTOR_TABLES) {
    found.count(table, yield* oneNumber(`SELECT count(*) AS count FROM ${table}`));
    for (const rowId of yield* column<number>(`SELECT n FROM ${orphanVectors(sql, table, of)}`)) {
      const what = of === "assistant_messages" ? "message" : "entry";
      found.add("vector", table, null, null, `The ${what} of row ${rowId}, which it is of, is not there.`);
    }
    for (const rowId of yield* column<number>(`SELECT v.n FROM ${wrongLength(check, table)}`)) {
      found.add("vector", table, null, null, `The vector of row ${rowId} is not one of the model's.`);
    }
    if (check.wrongPacks === undefined) continue;
    for (const pack of yield* column<number>(check.wrongPacks(table))) {
      found.add("vector", SIGN_TABLES[table], null, null, `Pack ${pack} does not hold the signs of its vectors.`);
    }
  }
}

const wrongLength = (check: CheckDialect, table: string) => `${table} v CROSS JOIN assistant_embedder e
  WHERE v.embedder > e.no OR v.embedder < 0 OR (v.embedder = e.no AND v.vector IS NOT NULL AND ${check.vectorLength} <> e.dimensions)`;

/** Vectors are made anew by the embedder, so a wrong one is marked as old. */
export function* repairVectors(sql: Dialect, check: CheckDialect): Operation<void> {
  if ((yield* sql.columns("assistant_vectors")).length === 0) return;
  for (const [table, of] of VECTOR_TABLES) {
    yield* run(`DELETE FROM ${orphanVectors(sql, table, of)}`);
    const named = sql.layout === "local" ? "n" : "session_id, n";
    const wrong = `SELECT ${named.replace(/\w+/g, "v.$&")} FROM ${wrongLength(check, table)}`;
    yield* run(`UPDATE ${table} SET embedder = 0 WHERE (${named}) IN (${wrong})`);
    if (check.wrongPacks === undefined) continue;
    const packs = JSON.stringify(yield* column<number>(check.wrongPacks(table)));
    yield* run(`DELETE FROM ${SIGN_TABLES[table]} WHERE pack IN (SELECT value FROM json_each(?))`, packs);
    // What writes signs writes the pack.
    yield* run(`UPDATE ${table} SET signs = signs WHERE n / ${PACK} IN (SELECT value FROM json_each(?))`, packs);
  }
}
