import {
  decodeMessage,
  type EncodedMessage,
  PendingMessage,
  type SessionMessage,
  StemmaError,
  splitContent,
  utf8Length,
} from "@stemma/model";
import type { CorruptHandler, Dialect } from "../../engine/dialect.js";
import { all, column, first, type Operation, run, type SessionRows } from "../../engine/operation.js";
export interface ContentRow {
  readonly n: number;
  readonly content: string;
}

export type ContentTuple = readonly [n: number, content: string];

export type DatedTuple = readonly [...ContentTuple, storedAt: string];

/**
 * Gives back the message of each content, with what stands outside its row. One that cannot be read is null and goes to
 * `onCorrupt`, or throws `CORRUPT_MESSAGE`; `idAt` finds the id of the message at an index for that, null gives "". The array
 * of the contents is used up: each message takes the place of its text, which nobody then keeps in memory.
 */
export function* readContents(
  session: SessionRows,
  contents: string[],
  idAt: ((index: number) => Operation<string>) | null,
  onCorrupt?: CorruptHandler,
): Operation<(SessionMessage | null)[]> {
  const decoded = contents as (string | Decoded)[] as Decoded[];
  let isWhole = true;
  for (let index = 0; index < contents.length; index += 1) {
    const found = decode(contents[index] as string);
    decoded[index] = found;
    isWhole &&= isComplete(found);
  }
  // Nearly every content is complete in itself.
  if (isWhole) return decoded as SessionMessage[];
  const data = yield* readMedia(session, decoded.flatMap(keysOf));
  const messages: (SessionMessage | null)[] = [];
  for (const [index, found] of decoded.entries()) {
    messages.push(
      isComplete(found) ? found : yield* readIncomplete(session, found, data, idAt && (() => idAt(index)), onCorrupt),
    );
  }
  return messages;
}

/** The messages of rows, in their order. */
export function readRows(
  session: SessionRows,
  rows: readonly ContentTuple[],
  onCorrupt?: CorruptHandler,
): Operation<(SessionMessage | null)[]> {
  const contents = rows.map(([, content]) => content);
  return readContents(session, contents, (index) => findId(session, (rows[index] as ContentTuple)[0]), onCorrupt);
}

/** A message with the time when it was stored, where it has no `createdAt`. */
export function dated(message: SessionMessage, storedAt: string): SessionMessage {
  return message.createdAt === undefined ? { ...message, createdAt: storedAt } : message;
}

/** Without those that could not be read. */
export function readable(messages: readonly (SessionMessage | null)[]): SessionMessage[] {
  return messages.filter((message) => message !== null);
}

/** The message of one row; null when it is corrupt and `onCorrupt` took it. */
export function* readContent(
  session: SessionRows,
  row: ContentRow,
  onCorrupt?: CorruptHandler,
): Operation<SessionMessage | null> {
  return (yield* readRows(session, [[row.n, row.content]], onCorrupt))[0] ?? null;
}

function* findId(rows: SessionRows, rowId: number): Operation<string> {
  return (yield* first<{ id: string }>(...rows.where("SELECT id FROM assistant_messages", "n = ?", rowId)))?.id ?? "";
}

// Whatever goes wrong in reading what is stored is the fault of what is stored.
function attempt<T>(read: () => T): T | Error {
  try {
    return read();
  } catch (error) {
    return asError(error);
  }
}

const asError = (error: unknown) => (error instanceof Error ? error : new SyntaxError(String(error)));

type Decoded = SessionMessage | PendingMessage | Error;

// As `attempt` does, but makes no function for each content.
function decode(content: string): Decoded {
  try {
    return decodeMessage(content);
  } catch (error) {
    return asError(error);
  }
}

function isComplete(decoded: Decoded): decoded is SessionMessage {
  return !(decoded instanceof PendingMessage) && !(decoded instanceof Error);
}

function* readIncomplete(
  session: SessionRows,
  decoded: PendingMessage | Error,
  data: ReadonlyMap<string, string>,
  findMessageId: (() => Operation<string>) | null,
  onCorrupt: CorruptHandler,
): Operation<SessionMessage | null> {
  const complete = decoded instanceof PendingMessage ? yield* completeMessage(session, decoded, data) : decoded;
  if (!(complete instanceof Error)) return complete;
  const id = findMessageId === null ? "" : yield* findMessageId();
  if (onCorrupt === undefined) {
    const advice = 'Read with { onCorrupt: "skip" } to leave it out, or delete or update it.';
    throw new StemmaError("CORRUPT_MESSAGE", { messageId: id }, `Message "${id}" cannot be read back. ${advice}`, {
      cause: complete,
    });
  }
  onCorrupt({ id, error: complete });
  return null;
}

function* completeMessage(
  session: SessionRows,
  pending: PendingMessage,
  data: ReadonlyMap<string, string>,
): Operation<SessionMessage | Error> {
  const message = attempt(() => pending.complete(data));
  if (!(message instanceof PendingMessage)) return message;
  return yield* completeMessage(session, message, yield* readMedia(session, keysOf(message)));
}

function keysOf(decoded: Decoded): string[] {
  if (!(decoded instanceof PendingMessage)) return [];
  const keys = attempt(() => decoded.keys);
  return keys instanceof Error ? [] : keys;
}

// Outside a message's row stand inline media, once per content and session, and contents that are too large for a row of this engine.
// Both are stored as parts that an engine's rows can hold.

/** True for a message of which nothing must stand outside its row. */
export function fitsRow(sql: Dialect, message: EncodedMessage): boolean {
  return message.media.length === 0 && fitsColumn(sql, message.content);
}

function fitsColumn(sql: Dialect, text: string): boolean {
  // A character is at most three bytes of UTF-8, so most texts need not be measured.
  return text.length * 3 <= sql.maxTextBytes || utf8Length(text) <= sql.maxTextBytes;
}

/** Writes what must stand outside the row `n`, and gives the content for the row itself. */
export function* storeContent(
  sql: Dialect,
  rows: SessionRows,
  rowId: number,
  message: EncodedMessage,
): Operation<string> {
  for (const { hash, data } of message.media) {
    yield* insertRef(rows, rowId, hash);
    const known = yield* first(
      ...rows.whereNumber("SELECT 1 FROM assistant_media", " AND hash = ? AND part = 0", hash),
    );
    if (known === undefined) yield* storeParts(sql, rows, hash, data);
  }
  if (fitsColumn(sql, message.content)) return message.content;
  const key = `row:${rowId}`;
  yield* insertRef(rows, rowId, key);
  yield* storeParts(sql, rows, key, message.content);
  return splitContent(message, key);
}

/** Notes that a row has something that stands outside it. */
export function insertRef(rows: SessionRows, rowId: number, hash: string): Operation<void> {
  const insert = `INSERT INTO assistant_media_refs (${rows.column}no, n, hash) VALUES (${rows.mark}?, ?, ?)`;
  return run(insert, ...rows.ids, rows.sessionNumber, rowId, hash);
}

/** Writes a text that stands outside its row, in parts that fit. */
export function* storeParts(sql: Dialect, rows: SessionRows, hash: string, data: string): Operation<void> {
  const length = Math.min(data.length, Math.max(1, Math.floor(sql.maxTextBytes / 3)));
  let part = 0;
  for (let start = 0; start < data.length || part === 0; part += 1) {
    let end = Math.min(start + length, data.length);
    // Halves of a surrogate pair would not survive in different rows.
    if (end < data.length && isHighSurrogate(data.charCodeAt(end - 1))) end += 1;
    const insertion = `INSERT INTO assistant_media (${rows.column}no, hash, part, data) VALUES (${rows.mark}?, ?, ?, ?)`;
    yield* run(insertion, ...rows.ids, rows.sessionNumber, hash, part, data.slice(start, end));
    start = end;
  }
}

const isHighSurrogate = (code: number) => code >= 0xd800 && code <= 0xdbff;

/** Removes what stands outside the rows from `lo` to `hi` and belongs to no other row. Gives how many contents that were. */
export function* dropContent(rows: SessionRows, lo: number, hi: number = lo): Operation<number> {
  const within = ["no = ? AND n BETWEEN ? AND ?", rows.sessionNumber, lo, hi] as const;
  const hashes = yield* column<string>(...rows.where("SELECT DISTINCT hash FROM assistant_media_refs", ...within));
  if (hashes.length === 0) return 0;
  yield* run(...rows.where("DELETE FROM assistant_media_refs", ...within));
  let dropped = 0;
  for (const hash of hashes) {
    const key = [rows.sessionNumber, hash] as const;
    const other = rows.where("SELECT 1 FROM assistant_media_refs", "no = ? AND hash = ? LIMIT 1", ...key);
    if ((yield* first(...other)) !== undefined) continue;
    yield* run(...rows.where("DELETE FROM assistant_media", "no = ? AND hash = ?", ...key));
    dropped += 1;
  }
  return dropped;
}

// Engines bind at least a hundred values to a statement.
const KEYS_AT_ONCE = 90;

/** The texts that stand outside rows of a session, by their keys. */
export function* readMedia(rows: SessionRows, keys: readonly string[]): Operation<Map<string, string>> {
  const data = new Map<string, string>();
  const missing = new Set<string>();
  const wanted = [...new Set(keys)];
  for (let start = 0; start < wanted.length; start += KEYS_AT_ONCE) {
    const some = wanted.slice(start, start + KEYS_AT_ONCE);
    const parts = yield* all<{ hash: string; part: number; data: string }>(
      ...rows.whereNumber(
        "SELECT hash, part, data FROM assistant_media",
        ` AND hash IN (${some.map(() => "?").join(", ")}) ORDER BY hash, part`,
        ...some,
      ),
    );
    for (const [index, row] of parts.entries()) {
      const before = parts[index - 1]?.hash === row.hash ? parts[index - 1]?.part : -1;
      // What lacks a part is as good as not there.
      if (row.part !== Number(before) + 1) missing.add(row.hash);
      data.set(row.hash, (data.get(row.hash) ?? "") + row.data);
    }
  }
  for (const hash of missing) data.delete(hash);
  return data;
}
