import { decodeMessage, PendingMessage } from "../../model/codec.js";
import { sha256 } from "../../model/sha256.js";
import type { Dialect } from "../engine/dialect.js";
import { column, type Operation, run, tuples } from "../engine/operation.js";
import { storePieces } from "../operations/content.js";
import { ceilingOf, floorOf } from "../operations/row-id.js";
import { isTrue, scanMedia } from "./media.js";
import { scanMessages, textOf } from "./scan.js";

/**
 * Brings back what messages lack outside their rows, where it is still somewhere: under another name in the session, or in another
 * session. Then writes the references anew, and removes what no message shows.
 */
export function* repairMedia(sql: Dialect, sessionNumber: number): Operation<void> {
  yield* restoreMissing(sql, sessionNumber);
  let isReadable = true;
  const withRefs = "SELECT DISTINCT n FROM assistant_media_refs WHERE no = ?";
  const mayHave = new Set(yield* column<number>(withRefs, sessionNumber));
  yield* scanMessages(sql, sessionNumber, function* (page) {
    for (const { row, said } of page) {
      if (said === null) {
        isReadable = false;
        continue;
      }
      const query = "SELECT hash FROM assistant_media_refs WHERE no = ? AND n = ?";
      const has = new Set(
        said.keys.length === 0 && !mayHave.has(row.n) ? [] : yield* column<string>(query, sessionNumber, row.n),
      );
      if (has.size === said.keys.length && said.keys.every((key) => has.has(key))) continue;
      yield* run("DELETE FROM assistant_media_refs WHERE no = ? AND n = ?", sessionNumber, row.n);
      for (const key of said.keys) {
        yield* run("INSERT INTO assistant_media_refs (no, n, hash) VALUES (?, ?, ?)", sessionNumber, row.n, key);
      }
    }
  });
  yield* run(
    "DELETE FROM assistant_media_refs WHERE no = ? AND n NOT IN (SELECT m.n FROM assistant_messages m WHERE m.n BETWEEN ? AND ?)",
    sessionNumber,
    floorOf(sessionNumber),
    ceilingOf(sessionNumber),
  );
  // What an unreadable message shows is not known, so nothing that it may show is removed.
  if (!isReadable) return;
  yield* run(
    "DELETE FROM assistant_media WHERE no = ? AND hash NOT IN (SELECT r.hash FROM assistant_media_refs r WHERE r.no = ?)",
    sessionNumber,
    sessionNumber,
  );
}

function* restoreMissing(sql: Dialect, sessionNumber: number): Operation<void> {
  const wanted = yield* keysWanted(sessionNumber);
  const whole = new Set<string>();
  yield* scanMedia(sessionNumber, (media) => {
    if (isTrue(media)) whole.add(media.hash);
  });
  for (const key of wanted) {
    if (whole.has(key)) continue;
    const data = yield* findElsewhere(sessionNumber, key);
    if (data === null) continue;
    yield* run("DELETE FROM assistant_media WHERE no = ? AND hash = ?", sessionNumber, key);
    yield* storePieces(sql, sessionNumber, key, data);
  }
}

// The keys that contents name, and that references do.
function* keysWanted(sessionNumber: number): Operation<Set<string>> {
  const keys = new Set(
    yield* column<string>("SELECT DISTINCT hash FROM assistant_media_refs WHERE no = ?", sessionNumber),
  );
  const marked = "SELECT n, content FROM assistant_messages WHERE n BETWEEN ? AND ? AND content LIKE '%\"$stemma\":%'";
  for (const [, content] of yield* tuples<[number, string]>(marked, floorOf(sessionNumber), ceilingOf(sessionNumber))) {
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
function* findElsewhere(sessionNumber: number, key: string): Operation<string | null> {
  let found: string | null = null;
  const isHash = !key.startsWith("row:");
  yield* scanMedia(sessionNumber, ({ hash, data }) => {
    if (isHash && sha256(data) === key) found = data;
    else if (!isHash && hash === key) found = data;
  });
  if (found !== null) return found;
  const others = "SELECT DISTINCT no FROM assistant_media WHERE hash = ? AND no <> ?";
  for (const other of yield* column<number>(others, key, sessionNumber)) {
    yield* scanMedia(other, (media) => {
      if (media.hash === key && isTrue(media)) found = media.data;
    });
    if (found !== null) return found;
  }
  return null;
}
