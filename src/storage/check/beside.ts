import type { Dialect } from "../engine/dialect.js";
import { all, column, first, type Operation, run } from "../engine/operation.js";
import { assertOrder } from "../operations/damage.js";
import { isoNow, makeRow } from "../operations/session-head.js";
import { isScope, UPGRADED_ROWS } from "../session-id.js";
import type { CheckDialect } from "./dialect.js";
import { type Findings, isText, isTime, isWhole } from "./findings.js";

// Blocks, entries, vectors: what is kept beside the messages, and by no number of a session.

interface KeptRow {
  readonly session_id: string;
  /** Of a block its kind, of an entry its label. */
  readonly group_name: string;
  /** Of a block its label, of an entry its key. */
  readonly name: string;
  readonly content: string;
  readonly version: number;
  readonly created_at: string;
  readonly updated_at: string;
  readonly registered: number | null;
}

const TABLES = {
  block: {
    table: "cf_agents_context_blocks",
    key: ["session_id", "kind", "label"],
    fields: "b.version AS version, b.updated_at AS created_at",
  },
  entry: {
    table: "cf_agents_search_entries",
    key: ["session_id", "label", "key"],
    fields: "1 AS version, b.created_at AS created_at",
  },
} as const;

type Kind = keyof typeof TABLES;

const PAGE = 64;

// The unnamed session has blocks without a row of its own; what `agents` wrote, and what users have, stand below ids that no
// session has.
const needsSession = ({ session_id, registered }: KeptRow) =>
  session_id !== "" && session_id !== UPGRADED_ROWS && !isScope(String(session_id)) && registered === null;

/** What is wrong with a row; [] when nothing is. */
function faultsOf(kind: Kind, row: KeptRow): string[] {
  const isPrompt = kind === "block" && row.group_name === "prompt";
  const rules: [boolean, string][] = [
    [!needsSession(row), "Its session is not in the registry."],
    [kind === "entry" || isPrompt || row.group_name === "block", "It is neither a block nor a prompt."],
    [isText(row.name) && isPrompt === (row.name === ""), "Its name is none."],
    [isText(row.content), "Its content is no text."],
    [isWhole(row.version, 1), "Its version is no number from 1."],
    [isTime(row.created_at) && isTime(row.updated_at), "When it was written is no time."],
  ];
  return rules.flatMap(([holds, message]) => (holds ? [] : [message]));
}

function* scanKept(
  kind: Kind,
  sessionId: string | undefined,
  visit: (row: KeptRow) => Operation<void>,
): Operation<void> {
  const { table, key, fields } = TABLES[kind];
  const [, group, name] = key;
  let after: string[] | null = null;
  const ends = new Set<string>();
  for (;;) {
    const conditions: string[] = [];
    if (after !== null) conditions.push(`(b.session_id, b.${group}, b.${name}) > (?, ?, ?)`);
    if (sessionId !== undefined) conditions.push("b.session_id = ?");
    const rows: KeptRow[] = yield* all<KeptRow>(
      `SELECT b.session_id AS session_id, b.${group} AS group_name, b.${name} AS name, b.content AS content,
              b.updated_at AS updated_at, ${fields}, s.no AS registered
       FROM ${table} b LEFT JOIN assistant_sessions s ON s.id = b.session_id
       ${conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`}
       ORDER BY b.session_id, b.${group}, b.${name} LIMIT ${PAGE}`,
      ...(after ?? []),
      ...(sessionId === undefined ? [] : [sessionId]),
    );
    for (const row of rows) yield* visit(row);
    const last = rows.at(-1);
    if (last === undefined) return;
    after = [last.session_id, last.group_name, last.name];
    // Engines order texts each in their own way, so only an end that comes twice tells.
    const end = JSON.stringify(after);
    assertOrder(!ends.has(end));
    ends.add(end);
  }
}

export function* checkKept(kind: Kind, sessionId: string | undefined, found: Findings): Operation<void> {
  // biome-ignore lint/correctness/useYield: the visitor of a scan is an operation, whether it asks something or not
  yield* scanKept(kind, sessionId, function* (row) {
    found.count(TABLES[kind].table, 1);
    for (const message of faultsOf(kind, row)) {
      found.add(kind, TABLES[kind].table, String(row.session_id), String(row.name), message);
    }
  });
}

/** Mends what can be without guessing at contents: the registry, versions and times. */
export function* repairKept(kind: Kind, sessionId: string | undefined): Operation<void> {
  const { table, key } = TABLES[kind];
  yield* scanKept(kind, sessionId, function* (row) {
    if (faultsOf(kind, row).length === 0) return;
    if (needsSession(row) && isText(row.session_id)) yield* makeRow(row.session_id);
    const where = key.map((name) => `${name} = ?`).join(" AND ");
    const set = (name: string, value: string | number) =>
      run(`UPDATE ${table} SET ${name} = ? WHERE ${where}`, value, row.session_id, row.group_name, row.name);
    if (!isWhole(row.version, 1)) yield* set("version", 1);
    if (!isTime(row.updated_at)) yield* set("updated_at", isoNow());
    if (kind === "entry" && !isTime(row.created_at)) yield* set("created_at", isoNow());
    if (kind === "block" && row.group_name !== "block" && row.group_name !== "prompt" && isText(row.name)) {
      const right = row.name === "" ? "prompt" : "block";
      const taken = `SELECT 1 FROM ${table} WHERE session_id = ? AND kind = ? AND label = ?`;
      if ((yield* first(taken, row.session_id, right, row.name)) === undefined) yield* set("kind", right);
    }
  });
}

const orphanVectors = "n NOT IN (SELECT m.n FROM assistant_messages m)";

/** Vectors of messages that are not there, and those of another length than the model's. */
export function* checkVectors(sql: Dialect, check: CheckDialect, found: Findings): Operation<void> {
  if ((yield* sql.columns("assistant_vectors")).length === 0) return;
  const rows = yield* first<{ count: number }>("SELECT count(*) AS count FROM assistant_vectors");
  found.count("assistant_vectors", Number(rows?.count ?? 0));
  for (const rowId of yield* column<number>(`SELECT n FROM assistant_vectors WHERE ${orphanVectors}`)) {
    found.add("vector", "assistant_vectors", null, null, `The message of row ${rowId}, which it is of, is not there.`);
  }
  for (const rowId of yield* column<number>(`SELECT v.n FROM ${WRONG_LENGTH(check)}`)) {
    found.add("vector", "assistant_vectors", null, null, `The vector of row ${rowId} is not one of the model's.`);
  }
}

const WRONG_LENGTH = (check: CheckDialect) => `assistant_vectors v CROSS JOIN assistant_embedder e
  WHERE v.embedder > e.no OR v.embedder < 0 OR (v.embedder = e.no AND v.vector IS NOT NULL AND ${check.vectorLength} <> e.dimensions)`;

/** Vectors are made anew by the embedder, so a wrong one is marked as old. */
export function* repairVectors(sql: Dialect, check: CheckDialect): Operation<void> {
  if ((yield* sql.columns("assistant_vectors")).length === 0) return;
  yield* run(`DELETE FROM assistant_vectors WHERE ${orphanVectors}`);
  yield* run(`UPDATE assistant_vectors SET embedder = 0 WHERE n IN (SELECT v.n FROM ${WRONG_LENGTH(check)})`);
}

const NUMBERED = ["assistant_branches", "assistant_media_refs", "assistant_media"] as const;
const UNREGISTERED = "no NOT IN (SELECT s.no FROM assistant_sessions s)";

/** Rows that are kept by the number of a session that is not there. */
export function* checkUnregistered(found: Findings): Operation<void> {
  for (const table of NUMBERED) {
    for (const sessionNumber of yield* column<number>(`SELECT DISTINCT no FROM ${table} WHERE ${UNREGISTERED}`)) {
      found.add(
        "place",
        table,
        null,
        null,
        `Session ${sessionNumber}, for which rows are kept, is not in the registry.`,
      );
    }
  }
}

/** Removes them. Comes last: what a session lacks is looked for among them. */
export function* repairUnregistered(keepMedia: boolean): Operation<void> {
  for (const table of NUMBERED) {
    if (!(keepMedia && table === "assistant_media")) yield* run(`DELETE FROM ${table} WHERE ${UNREGISTERED}`);
  }
}
