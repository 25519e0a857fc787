import { sha256 } from "@stemma/model";
import type { SessionRows } from "../engine/operation.js";
import { all, type Operation, pause, tuples } from "../engine/operation.js";
import { watchEnds } from "../operations/messages/damage.js";
import { ceilingOf, floorOf } from "../operations/registry/session-head.js";
import type { Findings } from "./findings.js";
import { type ScannedMessage, textOf } from "./scan.js";

/** How far the references of a session were read. */
interface Refs {
  readonly rows: SessionRows;
  from: number;
}

export const openRefs = (rows: SessionRows): Refs => ({ rows, from: floorOf(rows.sessionNumber) });

/** Holds the references of a page of messages against what their contents name; after the last page, those that are left. */
export function* checkRefs(
  sessionId: string,
  refs: Refs,
  page: readonly ScannedMessage[],
  found: Findings,
): Operation<void> {
  const { from } = refs;
  const report = (id: string | null, message: string) =>
    found.add("media", "assistant_media_refs", sessionId, id, message);
  const { sessionNumber } = refs.rows;
  const to = page.at(-1)?.row.n ?? Number.MAX_SAFE_INTEGER;
  const first = from === floorOf(sessionNumber) ? 0 : from;
  const rows = yield* tuples<[n: number, hash: string]>(
    ...refs.rows.whereNumber("SELECT n, hash FROM assistant_media_refs", " AND n BETWEEN ? AND ?", first, to),
  );
  found.count("assistant_media_refs", rows.length);
  const byRow = new Map<number, Set<string>>();
  for (const [rowId, hash] of rows) byRow.set(rowId, (byRow.get(rowId) ?? new Set()).add(hash));
  for (const { row, said } of page) {
    const has = byRow.get(row.n) ?? new Set();
    byRow.delete(row.n);
    // What an unreadable message needs is not known.
    if (said === null || (has.size === said.keys.length && said.keys.every((key) => has.has(key)))) continue;
    report(row.id, "What stands outside its row is not what it names.");
  }
  for (const rowId of byRow.keys()) report(null, `Row ${rowId}, which media are kept for, is not there.`);
  refs.from = to === Number.MAX_SAFE_INTEGER ? ceilingOf(sessionNumber) + 1 : to + 1;
}

interface PartRow {
  readonly hash: string;
  readonly part: number;
  readonly data: string;
}

const PARTS_AT_ONCE = 16;

/** One text that stands outside its row. */
export interface StoredMedia {
  readonly hash: string;
  readonly data: string;
  /** No part is missing. */
  readonly isWhole: boolean;
}

/** Reads what stands outside the rows of a session, one text after the other. */
export function* scanMedia(session: SessionRows, visit: (media: StoredMedia) => void): Operation<void> {
  let hash = "";
  let part = -1;
  let texts: string[] = [];
  let isWhole = true;
  const endsAt = watchEnds();
  const end = (): void => {
    if (texts.length > 0) visit({ hash, data: texts.join(""), isWhole });
  };
  for (;;) {
    const rows: PartRow[] = yield* all<PartRow>(
      ...session.whereNumber(
        "SELECT hash, part, data FROM assistant_media",
        ` AND (hash > ? OR hash = ? AND part > ?)
       ORDER BY hash, part LIMIT ${PARTS_AT_ONCE}`,
        hash,
        hash,
        part,
      ),
    );
    for (const row of rows) {
      if (row.hash !== hash || texts.length === 0) {
        end();
        [hash, texts, isWhole] = [row.hash, [], true];
        part = -1;
      }
      isWhole &&= row.part === part + 1 && typeof row.data === "string";
      texts.push(textOf(row.data));
      part = row.part;
    }
    if (rows.length === 0) return end();
    endsAt(hash, part);
    yield* pause();
  }
}

/** True for a text that is what its key says; the key of a content that was moved out says nothing of it. */
export function isTrue({ hash, data, isWhole }: StoredMedia): boolean {
  return isWhole && (String(hash).startsWith("row:") || sha256(data) === hash);
}

export function* checkMedia(rows: SessionRows, found: Findings): Operation<void> {
  const { id } = rows;
  const used = new Set(
    (yield* tuples<[string]>(...rows.whereNumber("SELECT DISTINCT hash FROM assistant_media_refs"))).map(
      ([hash]) => hash,
    ),
  );
  yield* scanMedia(rows, (media) => {
    found.count("assistant_media", 1);
    const name = String(media.hash);
    if (!isTrue(media)) found.add("media", "assistant_media", id, null, `The data ${name} is not what its hash says.`);
    else if (!used.has(name)) found.add("media", "assistant_media", id, null, `No message shows the data ${name}.`);
  });
}
