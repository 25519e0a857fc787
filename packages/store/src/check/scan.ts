import type { SessionMessage } from "@stemma/model";
import {
  decodeMessage,
  estimateMessageTokens,
  isJsonObject,
  isoTime,
  PendingMessage,
  searchableText,
  sha256,
  storableText,
} from "@stemma/model";
import type { Dialect } from "../engine/dialect.js";
import { all, type Operation, pause, type SessionRows, tuples } from "../engine/operation.js";
import { readContents, readMedia } from "../operations/messages/content.js";
import { rowAfter, watchEnds } from "../operations/messages/damage.js";
import { ceilingOf, floorOf } from "../operations/registry/session-head.js";
import type { Findings } from "./findings.js";
import { isText } from "./findings.js";

/** A row of `assistant_messages`, as it stands there. What is damaged may be of any type. */
export interface MessageRow {
  readonly n: number;
  readonly id: string;
  readonly session_id: string;
  readonly parent_id: string | null;
  readonly role: string;
  readonly created_at: string;
  readonly branch: number;
  readonly tokens: number;
  readonly total: number | null;
  readonly dated_at: string | null;
  readonly content: string;
  readonly text_content?: string;
}

export interface ScannedMessage {
  readonly row: MessageRow;
  /** The meaning of the content; null for one that cannot be read. */
  readonly said: Said | null;
}

/** The values that the other columns, the references and the index must hold. */
export interface Said {
  readonly message: SessionMessage;
  readonly tokens: number;
  readonly datedAt: string | null;
  readonly text: string;
  /** Keys of what stands outside the row. */
  readonly keys: readonly string[];
}

const PAGE = 64;
const COLUMNS = "n, id, session_id, parent_id, role, created_at, branch, tokens, total, dated_at, content";

/** Reads the messages of a session in order, a page at a time. */
export function* scanMessages(
  sql: Dialect,
  session: SessionRows,
  visit: (page: readonly ScannedMessage[]) => Operation<void>,
): Operation<void> {
  const columns = sql.layout !== "local" ? `${COLUMNS}, text_content` : COLUMNS;
  for (let from = floorOf(session.sessionNumber); ; ) {
    const rows = yield* all<MessageRow>(
      ...session.where(
        `SELECT ${columns} FROM assistant_messages`,
        `n BETWEEN ? AND ? ORDER BY n LIMIT ${PAGE}`,
        from,
        ceilingOf(session.sessionNumber),
      ),
    );
    const contents = rows.map(({ content }) => textOf(content));
    const messages = yield* readContents(session, [...contents], null, () => {});
    const page: ScannedMessage[] = [];
    for (const [index, row] of rows.entries()) {
      const message = messages[index] ?? null;
      const keys = message === null ? [] : yield* keysOf(session, contents[index] as string);
      page.push({ row, said: message === null ? null : sayingOf(message, keys) });
    }
    yield* visit(page);
    const last = rows.at(-1);
    if (last === undefined) return;
    from = rowAfter(last.n, from);
    yield* pause();
  }
}

/** A stored text that damage may have made a value of another type. */
export function textOf(value: unknown): string {
  return value instanceof Uint8Array ? new TextDecoder().decode(value) : String(value);
}

// A content that was moved out whole names others inside.
function* keysOf(session: SessionRows, content: string): Operation<string[]> {
  const decoded = decodeMessage(content);
  if (!(decoded instanceof PendingMessage)) return [];
  const keys = decoded.keys;
  const [moved] = keys;
  if (moved === undefined || !moved.startsWith("row:")) return keys;
  const inner = (yield* readMedia(session, keys)).get(moved);
  return inner === undefined ? keys : [...keys, ...(yield* keysOf(session, inner))];
}

function sayingOf(message: SessionMessage, keys: readonly string[]): Said | null {
  try {
    const isMessage = message.parts.every((part) => isJsonObject(part) && isText(part.type));
    if (!isMessage) return null;
    return {
      message,
      tokens: estimateMessageTokens(message),
      datedAt: isoTime(message.createdAt),
      text: storableText(searchableText(message)),
      keys,
    };
  } catch {
    // Parts that no one would have written: what reads them here would fail elsewhere too.
    return null;
  }
}

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
interface StoredMedia {
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
