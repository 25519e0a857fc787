import { decodeMessage, estimateMessageTokens, PendingMessage, sha256, summaryMessage } from "@stemma/model";
import type { Dialect } from "../engine/dialect.js";
import {
  column,
  first,
  type Operation,
  ownOf,
  rowsOf,
  run,
  type SessionRows,
  type SqlValue,
  tuples,
} from "../engine/operation.js";
import { insertRef, storeParts } from "../operations/messages/content.js";
import { forgetLength } from "../operations/path/measures.js";
import { MADE_UP_ID } from "../operations/path/path.js";
import { ceilingOf, floorOf, isoNow } from "../operations/registry/session-head.js";
import { readBranches, readSummaries, type SummaryRow } from "./check-session.js";
import { type Findings, isText, isTime, isWhole } from "./findings.js";
import { faultsOf, type RegisteredSession } from "./registry-row.js";
import { type Bone, mendParents, pathsOf, readBones, writeTree } from "./repair-tree.js";
import { isTrue, type ScannedMessage, scanMedia, scanMessages, textOf } from "./scan.js";

/** Mends what a check found in a session. No message and no summary is removed; what cannot be read stays where it is. */
export function* repairSession(sql: Dialect, session: RegisteredSession, found: Findings): Operation<void> {
  const rows = rowsOf(sql, session.id, session.no);
  yield* repairRegistryRow(rows, session);
  if (found.has("content") || found.has("media")) yield* repairMedia(sql, rows);
  const bones = yield* readBones(rows);
  yield* repairFields(sql, rows, bones);
  const branches = yield* readBranches(rows);
  yield* mendParents(sql, rows, bones, branches);
  if (found.has("tree") || found.has("fields")) {
    yield* writeTree(rows, bones, branches);
    // A row that was moved left what stands outside it behind.
    yield* repairMedia(sql, rows);
  }
  yield* repairSummaries(rows, bones);
  const leaf = yield* first<{ leaf: number | null }>(...rows.whereRegistered("SELECT leaf FROM assistant_sessions"));
  const isLeaf = leaf?.leaf == null || leaf.leaf === 0 || bones.some(({ n: rowId }) => rowId === leaf.leaf);
  if (!isLeaf) yield* run(...rows.whereRegistered("UPDATE assistant_sessions SET leaf = NULL"));
  yield* forgetLength(rows);
  // Totals are measured anew when they are asked for.
  yield* run(...rows.whereRegistered("UPDATE assistant_sessions SET stale = ?", bones.at(-1)?.n ?? null));
}

function* repairRegistryRow(rows: SessionRows, session: RegisteredSession): Operation<void> {
  const set = (column: string, value: SqlValue) =>
    run(...rows.whereRegistered(`UPDATE assistant_sessions SET ${column} = ?`, value));
  for (const column of faultsOf(session)) {
    if (column === "id" || column === "name") yield* set(column, textOf(session[column]));
    else if (column === "created_at" || column === "updated_at") yield* set(column, isoNow());
    else if (/tokens|cost|changes/.test(column)) yield* set(column, 0);
    else yield* set(column, null);
  }
}

function* repairSummaries(rows: SessionRows, bones: readonly Bone[]): Operation<void> {
  const rangeOf = rangesAmong(bones);
  for (const row of yield* readSummaries(rows)) {
    const { from, to } = rangeOf(row);
    const tokens = estimateMessageTokens(summaryMessage({ id: textOf(row.id), summary: textOf(row.summary) }));
    yield* run(
      ...rows.where(
        `UPDATE assistant_compactions SET ${rows.layout !== "local" ? "" : "session_id = ?, "}summary = ?, from_n = ?, from_message_id = ?, to_n = ?, to_message_id = ?,
         tokens = ?, covered_tokens = ?, created_at = ?`,
        "n = ?",
        ...(rows.layout !== "local" ? [] : [rows.id]),
        textOf(row.summary),
        from?.n ?? null,
        from?.id ?? textOf(row.from_message_id),
        to?.n ?? null,
        to?.id ?? textOf(row.to_message_id),
        tokens,
        isWhole(row.covered_tokens) ? row.covered_tokens : null,
        isTime(row.created_at) ? row.created_at : isoNow(),
        row.n,
      ),
    );
  }
}

interface Range {
  readonly from: Bone | null;
  readonly to: Bone | null;
}

// The ends by their ids or by their rows, whichever lie on one path; a range that is gone keeps its words and covers nothing.
function rangesAmong(bones: readonly Bone[]): (row: SummaryRow) => Range {
  const byId = new Map(bones.map((bone) => [bone.id, bone]));
  const byRow = new Map(bones.map((bone) => [bone.n, bone]));
  const isOnPath = pathsOf(bones);
  return ({ from_n, from_message_id, to_n, to_message_id }) => {
    const none = { from: null, to: null };
    if (from_n === null && to_n === null) return none;
    const [first, last] = [byId.get(from_message_id), byId.get(to_message_id)];
    const [lowest, highest] = [byRow.get(from_n ?? 0), byRow.get(to_n ?? 0)];
    const ends = [
      [first, last],
      [lowest, highest],
      [first, highest],
      [lowest, last],
    ];
    for (const [from, to] of ends) {
      if (from !== undefined && to !== undefined && isOnPath(from, to)) return { from, to };
    }
    return none;
  };
}

/** Makes what stands in the rows of messages what their contents say. */
function* repairFields(sql: Dialect, rows: SessionRows, bones: readonly Bone[]): Operation<void> {
  const byRow = new Map(bones.map((bone) => [bone.n, bone]));
  const names: Names = { taken: new Set(bones.map(({ id }) => id)), parents: new Set(bones.map((b) => b.parent_id)) };
  yield* scanMessages(sql, rows, function* (page) {
    for (const scanned of page) {
      const { row, said } = scanned;
      const set = (column: string, value: SqlValue) =>
        run(...rows.where(`UPDATE assistant_messages SET ${column} = ?`, "n = ?", value, row.n));
      if (!isText(row.content)) yield* set("content", textOf(row.content));
      if (!isTime(row.created_at)) yield* set("created_at", said?.datedAt ?? isoNow());
      if (!(row.total === null || isWhole(row.total))) yield* set("total", null);
      if (said === null) {
        if (!isWhole(row.tokens)) yield* set("tokens", 0);
        continue;
      }
      if (row.tokens !== said.tokens) yield* set("tokens", said.tokens);
      if (row.dated_at !== said.datedAt) yield* set("dated_at", said.datedAt);
      if (row.role !== said.message.role) {
        if (isText(said.message.role)) yield* set("role", said.message.role);
        else yield* set("content", withField(row.content, "role", row.role));
      }
      if (row.text_content !== undefined && row.text_content !== said.text) yield* set("text_content", said.text);
      const id = yield* repairId(rows, scanned, names);
      const bone = byRow.get(row.n);
      if (bone !== undefined) bone.id = id;
    }
  });
}

interface Names {
  readonly taken: Set<string>;
  readonly parents: ReadonlySet<string | null>;
}

// A row and its content name different messages: what others hang below is the right one, else what a reader saw.
function* repairId(rows: SessionRows, { row, said }: ScannedMessage, { taken, parents }: Names): Operation<string> {
  const inside = said?.message.id;
  if (inside === row.id || String(row.id).startsWith(MADE_UP_ID)) return row.id;
  const isRowRight = isName(row.id) && (!isName(inside) || parents.has(row.id) || taken.has(inside));
  if (isName(inside) && !taken.has(inside) && (!isRowRight || parents.has(inside))) {
    yield* run(...rows.where("UPDATE assistant_messages SET id = ?", "n = ?", inside, row.n));
    taken.add(inside);
    return inside;
  }
  const content = withField(row.content, "id", row.id);
  yield* run(...rows.where("UPDATE assistant_messages SET content = ?", "n = ?", content, row.n));
  return row.id;
}

const isName = (id: unknown): id is string => isText(id) && id !== "";

function withField(content: unknown, field: string, value: string): string {
  return JSON.stringify({ ...JSON.parse(textOf(content)), [field]: value });
}

/**
 * Brings back what messages lack outside their rows, where it is still somewhere: under another name in the session, or in another
 * session. Then writes the references anew, and removes what no message shows.
 */
function* repairMedia(sql: Dialect, rows: SessionRows): Operation<void> {
  const { sessionNumber } = rows;
  yield* restoreMissing(sql, rows);
  let isReadable = true;
  const mayHave = new Set(yield* column<number>(...rows.whereNumber("SELECT DISTINCT n FROM assistant_media_refs")));
  yield* scanMessages(sql, rows, function* (page) {
    for (const { row, said } of page) {
      if (said === null) {
        isReadable = false;
        continue;
      }
      const has = new Set(
        said.keys.length === 0 && !mayHave.has(row.n)
          ? []
          : yield* column<string>(...rows.whereNumber("SELECT hash FROM assistant_media_refs", " AND n = ?", row.n)),
      );
      if (has.size === said.keys.length && said.keys.every((key) => has.has(key))) continue;
      yield* run(...rows.whereNumber("DELETE FROM assistant_media_refs", " AND n = ?", row.n));
      for (const key of said.keys) yield* insertRef(rows, row.n, key);
    }
  });
  const messages = `SELECT m.n FROM assistant_messages m WHERE ${ownOf(sql, "m")}m.n BETWEEN ? AND ?`;
  const range = [...rows.ids, floorOf(sessionNumber), ceilingOf(sessionNumber)];
  yield* run(...rows.whereNumber("DELETE FROM assistant_media_refs", ` AND n NOT IN (${messages})`, ...range));
  // What an unreadable message shows is not known, so nothing that it may show is removed.
  if (!isReadable) return;
  const named = `SELECT r.hash FROM assistant_media_refs r WHERE ${ownOf(sql, "r")}r.no = ?`;
  const key = [sessionNumber, ...rows.ids, sessionNumber];
  yield* run(...rows.where("DELETE FROM assistant_media", `no = ? AND hash NOT IN (${named})`, ...key));
}

function* restoreMissing(sql: Dialect, rows: SessionRows): Operation<void> {
  const wanted = yield* keysWanted(rows);
  const whole = new Set<string>();
  yield* scanMedia(rows, (media) => {
    if (isTrue(media)) whole.add(media.hash);
  });
  for (const key of wanted) {
    if (whole.has(key)) continue;
    const data = yield* findElsewhere(sql, rows, key);
    if (data === null) continue;
    yield* run(...rows.whereNumber("DELETE FROM assistant_media", " AND hash = ?", key));
    yield* storeParts(sql, rows, key, data);
  }
}

// The keys that contents name, and that references do.
function* keysWanted(rows: SessionRows): Operation<Set<string>> {
  const { sessionNumber } = rows;
  const keys = new Set(yield* column<string>(...rows.whereNumber("SELECT DISTINCT hash FROM assistant_media_refs")));
  const isMarked = `n BETWEEN ? AND ? AND content LIKE '%"$stemma":%'`;
  const range = [floorOf(sessionNumber), ceilingOf(sessionNumber)] as const;
  const marked = rows.where("SELECT n, content FROM assistant_messages", isMarked, ...range);
  for (const [, content] of yield* tuples<[number, string]>(...marked)) {
    try {
      const decoded = decodeMessage(textOf(content));
      if (decoded instanceof PendingMessage) for (const key of decoded.keys) keys.add(key);
    } catch {
      // It cannot be read, and is told of as that.
    }
  }
  return keys;
}

// Data that is what the key says, whatever it is called where it stands.
function* findElsewhere(sql: Dialect, rows: SessionRows, key: string): Operation<string | null> {
  let found: string | null = null;
  const isHash = !key.startsWith("row:");
  yield* scanMedia(rows, ({ hash, data }) => {
    if (isHash && sha256(data) === key) found = data;
    else if (!isHash && hash === key) found = data;
  });
  if (found !== null) return found;
  const [id, isOther, own] =
    sql.layout !== "local" ? ["session_id", "session_id <> ?", rows.id] : ["''", "no <> ?", rows.sessionNumber];
  const others = `SELECT DISTINCT no, ${id} AS id FROM assistant_media WHERE hash = ? AND ${isOther}`;
  for (const [other, otherId] of yield* tuples<[number, string]>(others, key, own)) {
    yield* scanMedia(rowsOf(sql, otherId, other), (media) => {
      if (media.hash === key && isTrue(media)) found = media.data;
    });
    if (found !== null) return found;
  }
  return null;
}
