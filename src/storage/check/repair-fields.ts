import type { Dialect } from "../engine/dialect.js";
import { type Operation, run, type SqlValue } from "../engine/operation.js";
import type { SessionRows } from "../engine/session-rows.js";
import { isoNow } from "../operations/clock.js";
import { MADE_UP_ID } from "../operations/history.js";
import { isText, isTime, isWhole } from "./findings.js";
import type { Bone } from "./repair-tree.js";
import { type ScannedMessage, scanMessages, textOf } from "./scan.js";

/** Makes what stands in the rows of messages what their contents say. */
export function* repairFields(sql: Dialect, rows: SessionRows, bones: readonly Bone[]): Operation<void> {
  const byRow = new Map(bones.map((bone) => [bone.n, bone]));
  const names: Names = { taken: new Set(bones.map(({ id }) => id)), parents: new Set(bones.map((b) => b.parent_id)) };
  yield* scanMessages(sql, rows, function* (page) {
    for (const scanned of page) {
      const { row, said } = scanned;
      const set = (column: string, value: SqlValue) =>
        run(`UPDATE assistant_messages SET ${column} = ? WHERE ${rows.own}n = ?`, value, ...rows.ids, row.n);
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
function* repairId(
  { own, ids }: SessionRows,
  { row, said }: ScannedMessage,
  { taken, parents }: Names,
): Operation<string> {
  const inside = said?.message.id;
  if (inside === row.id || String(row.id).startsWith(MADE_UP_ID)) return row.id;
  const isRowRight = isName(row.id) && (!isName(inside) || parents.has(row.id) || taken.has(inside));
  if (isName(inside) && !taken.has(inside) && (!isRowRight || parents.has(inside))) {
    yield* run(`UPDATE assistant_messages SET id = ? WHERE ${own}n = ?`, inside, ...ids, row.n);
    taken.add(inside);
    return inside;
  }
  const content = withField(row.content, "id", row.id);
  yield* run(`UPDATE assistant_messages SET content = ? WHERE ${own}n = ?`, content, ...ids, row.n);
  return row.id;
}

const isName = (id: unknown): id is string => isText(id) && id !== "";

function withField(content: unknown, field: string, value: string): string {
  return JSON.stringify({ ...JSON.parse(textOf(content)), [field]: value });
}
