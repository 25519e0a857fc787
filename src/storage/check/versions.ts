import { all, type Operation, run } from "../engine/operation.js";
import { isoNow, makeRow } from "../operations/session-head.js";
import { isScope, UPGRADED_ROWS } from "../session-id.js";
import { type Findings, isText, isTime, isWhole } from "./findings.js";

interface VersionRow {
  readonly session_id: string;
  readonly kind: string;
  readonly label: string;
  readonly key: string;
  readonly version: number | string;
  readonly content: string | null;
  readonly written_at: string;
  readonly author: string | null;
  readonly message_ids: string | null;
  readonly registered: number | null;
}

const TABLE = "assistant_versions";
const PAGE = 64;
const AUTHORS = ["model", "program", "learning", "import"];

const needsSession = ({ session_id, registered }: VersionRow) =>
  session_id !== "" && session_id !== UPGRADED_ROWS && !isScope(String(session_id)) && registered === null;

/** What makes it no version at all. */
function isNone({ kind, label, key, version, content }: VersionRow): boolean {
  const isBlock = kind === "block" && key === "" && isText(content);
  const isEntry = kind === "entry" && isText(key) && (content === null || isText(content));
  return !(isText(label) && isWhole(Number(version), 1) && (isBlock || isEntry));
}

const isIds = (text: string | null): boolean => {
  if (text === null) return true;
  try {
    const ids: unknown = JSON.parse(text);
    return Array.isArray(ids) && ids.every(isText);
  } catch {
    return false;
  }
};

/** What is wrong with what a version says of itself. */
const isMisnoted = ({ written_at, author, message_ids }: VersionRow) =>
  !isTime(written_at) || !(author === null || AUTHORS.includes(author)) || !isIds(message_ids);

function faultsOf(row: VersionRow): string[] {
  const rules: [boolean, string][] = [
    [!needsSession(row), "Its session is not in the registry."],
    [!isNone(row), "It is no version of a block or an entry."],
    [!isMisnoted(row), "When it was written, by whom or of which messages is none."],
  ];
  return rules.flatMap(([holds, message]) => (holds ? [] : [message]));
}

/** How many rows there are, and those with a fault. */
function* scan(sessionId: string | undefined): Operation<{ looked: number; faulty: VersionRow[] }> {
  const faulty: VersionRow[] = [];
  let looked = 0;
  for (;;) {
    const rows: VersionRow[] = yield* all<VersionRow>(
      `SELECT v.session_id AS session_id, v.kind AS kind, v.label AS label, v.key AS key, v.version AS version,
              v.content AS content, v.written_at AS written_at, v.author AS author, v.message_ids AS message_ids,
              s.no AS registered
       FROM ${TABLE} v LEFT JOIN assistant_sessions s ON s.id = v.session_id
       ${sessionId === undefined ? "" : "WHERE v.session_id = ?"}
       ORDER BY v.session_id, v.kind, v.label, v.key, v.version LIMIT ${PAGE} OFFSET ${looked}`,
      ...(sessionId === undefined ? [] : [sessionId]),
    );
    looked += rows.length;
    for (const row of rows) if (faultsOf(row).length > 0) faulty.push(row);
    if (rows.length < PAGE) return { looked, faulty };
  }
}

/** Holds the versions of blocks and entries against their rules. */
export function* checkVersions(sessionId: string | undefined, found: Findings): Operation<void> {
  const { looked, faulty } = yield* scan(sessionId);
  found.count(TABLE, looked);
  for (const row of faulty) {
    const id = row.kind === "entry" ? row.key : row.label;
    for (const message of faultsOf(row)) found.add("version", TABLE, String(row.session_id), String(id), message);
  }
}

/** Removes what is no version. What one says of itself is taken back where it cannot be; its text stays. */
export function* repairVersions(sessionId: string | undefined): Operation<void> {
  for (const row of (yield* scan(sessionId)).faulty) {
    const at = [row.session_id, row.kind, row.label, row.key, row.version] as const;
    const where = "WHERE session_id = ? AND kind = ? AND label = ? AND key = ? AND version = ?";
    if (isNone(row)) {
      yield* run(`DELETE FROM ${TABLE} ${where}`, ...at);
      continue;
    }
    if (needsSession(row)) yield* makeRow(row.session_id);
    if (!isMisnoted(row)) continue;
    const writtenAt = isTime(row.written_at) ? row.written_at : isoNow();
    yield* run(`UPDATE ${TABLE} SET written_at = ?, author = NULL, message_ids = NULL ${where}`, writtenAt, ...at);
  }
}
