import { decodeMessage, PendingMessage } from "../../model/codec.js";
import { sha256 } from "../../model/sha256.js";
import type { Dialect } from "../engine/dialect.js";
import { column, type Operation, run, tuples } from "../engine/operation.js";
import { ownOf, rowsOf, type SessionRows } from "../engine/session-rows.js";
import { insertRef, storeParts } from "../operations/media.js";
import { ceilingOf, floorOf } from "../operations/row-id.js";
import { isTrue, scanMedia } from "./media.js";
import { scanMessages, textOf } from "./scan.js";

/**
 * Brings back what messages lack outside their rows, where it is still somewhere: under another name in the session, or in another
 * session. Then writes the references anew, and removes what no message shows.
 */
export function* repairMedia(sql: Dialect, rows: SessionRows): Operation<void> {
  const { own, ids, sessionNumber } = rows;
  yield* restoreMissing(sql, rows);
  let isReadable = true;
  const withRefs = `SELECT DISTINCT n FROM assistant_media_refs WHERE ${own}no = ?`;
  const mayHave = new Set(yield* column<number>(withRefs, ...ids, sessionNumber));
  yield* scanMessages(sql, rows, function* (page) {
    for (const { row, said } of page) {
      if (said === null) {
        isReadable = false;
        continue;
      }
      const query = `SELECT hash FROM assistant_media_refs WHERE ${own}no = ? AND n = ?`;
      const has = new Set(
        said.keys.length === 0 && !mayHave.has(row.n) ? [] : yield* column<string>(query, ...ids, sessionNumber, row.n),
      );
      if (has.size === said.keys.length && said.keys.every((key) => has.has(key))) continue;
      yield* run(`DELETE FROM assistant_media_refs WHERE ${own}no = ? AND n = ?`, ...ids, sessionNumber, row.n);
      for (const key of said.keys) yield* insertRef(rows, row.n, key);
    }
  });
  const removal = `DELETE FROM assistant_media_refs WHERE ${own}no = ? AND n NOT IN (
       SELECT m.n FROM assistant_messages m WHERE ${ownOf(sql, "m")}m.n BETWEEN ? AND ?)`;
  yield* run(removal, ...[...ids, sessionNumber], ...[...ids, floorOf(sessionNumber), ceilingOf(sessionNumber)]);
  // What an unreadable message shows is not known, so nothing that it may show is removed.
  if (!isReadable) return;
  const deletion = `DELETE FROM assistant_media WHERE ${own}no = ? AND hash NOT IN (
       SELECT r.hash FROM assistant_media_refs r WHERE ${ownOf(sql, "r")}r.no = ?)`;
  yield* run(deletion, ...[...ids, sessionNumber], ...[...ids, sessionNumber]);
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
    const removal = `DELETE FROM assistant_media WHERE ${rows.own}no = ? AND hash = ?`;
    yield* run(removal, ...rows.ids, rows.sessionNumber, key);
    yield* storeParts(sql, rows, key, data);
  }
}

// The keys that contents name, and that references do.
function* keysWanted({ own, ids, sessionNumber }: SessionRows): Operation<Set<string>> {
  const keys = new Set(
    yield* column<string>(`SELECT DISTINCT hash FROM assistant_media_refs WHERE ${own}no = ?`, ...ids, sessionNumber),
  );
  const marked = `SELECT n, content FROM assistant_messages
    WHERE ${own}n BETWEEN ? AND ? AND content LIKE '%"$stemma":%'`;
  const range = [...ids, floorOf(sessionNumber), ceilingOf(sessionNumber)];
  for (const [, content] of yield* tuples<[number, string]>(marked, ...range)) {
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
  const [id, isOther, own] = sql.namesSessions
    ? ["session_id", "session_id <> ?", rows.id]
    : ["''", "no <> ?", rows.sessionNumber];
  const others = `SELECT DISTINCT no, ${id} AS id FROM assistant_media WHERE hash = ? AND ${isOther}`;
  for (const [other, otherId] of yield* tuples<[number, string]>(others, key, own)) {
    yield* scanMedia(rowsOf(sql, otherId, other), (media) => {
      if (media.hash === key && isTrue(media)) found = media.data;
    });
    if (found !== null) return found;
  }
  return null;
}
