import type { SessionMessage } from "@stemma/model";
import { decodeMessage, PendingMessage, StemmaError } from "@stemma/model";
import type { CorruptHandler } from "../../engine/dialect.js";
import type { SessionRows } from "../../engine/operation.js";
import { first, type Operation } from "../../engine/operation.js";
import { readMedia } from "./media.js";

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

/** The same of rows. */
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

function* findId({ own, ids }: SessionRows, rowId: number): Operation<string> {
  const query = `SELECT id FROM assistant_messages WHERE ${own}n = ?`;
  return (yield* first<{ id: string }>(query, ...ids, rowId))?.id ?? "";
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
