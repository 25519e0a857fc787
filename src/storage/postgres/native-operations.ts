import type { EncodedMessage } from "../../model/codec.js";
import type { ParentRef } from "../contract.js";
import type { Appended, Dialect, NativeOperations } from "../engine/dialect.js";
import type { Operation } from "../engine/operation.js";
import { appendMessages, importMessages } from "../operations/messages.js";
import { appendRow, appendRows, attachmentTo, resultOf, rowOf } from "./append-rows.js";
import type { Placement } from "./placement.js";
import { isMessageId, readPath, readRecent } from "./read-path.js";

/** A message of more characters goes to the database in parts. */
const MAX_APPENDED = 32_000_000;
/** Messages, and characters of them, that one statement writes: its JSON is made in one piece. */
const MOST_MESSAGES = 500;
const MOST_TEXT = 4_000_000;

/** Appends and histories in one round trip each, by functions of the database: see `append.ts`, `append-all.ts`, `path.ts` and `recent.ts`. */
export const postgresNative = (placement: Placement): NativeOperations => ({
  mayAppend(messages, parent) {
    if (messages.length === 0 || !isMessageId(parent ?? "")) return false;
    const most = messages.length === 1 ? MAX_APPENDED : MOST_TEXT;
    return messages.reduce((size, message) => size + sizeOf(message), 0) <= most;
  },

  *append(sessionId, messages, parent, userId) {
    const [one, ...others] = messages as [EncodedMessage, ...EncodedMessage[]];
    if (others.length === 0) return resultOf(yield* appendRow(sessionId, rowOf(one, attachmentTo(parent)), userId));
    const rows = messages.map((message, index) =>
      rowOf(message, index === 0 ? attachmentTo(parent) : attachmentTo((messages[index - 1] as EncodedMessage).id)),
    );
    return resultOf(yield* appendRows(sessionId, rows, userId));
  },

  *path(sessionId, options, userId) {
    return placement.isApart ? null : yield* readPath(sessionId, options, userId);
  },

  *recent(sessionId, options, userId) {
    return placement.isApart ? null : yield* readRecent(sessionId, options, userId);
  },

  *appendList(sql, sessionId, messages, parent) {
    if (!isMessageId(parent ?? "")) return yield* appendMessages(sql, sessionId, messages, parent);
    const parentOf = (index: number) => (index === 0 ? parent : (messages[index - 1] as EncodedMessage).id);
    return yield* attachAll(
      sql,
      sessionId,
      messages.map((message, index) => ({ message, parent: parentOf(index) })),
    );
  },

  *importMessages(sql, sessionId, messages) {
    // The session is registered all the same.
    if (messages.length === 0) return yield* importMessages(sql, sessionId, messages);
    const attached = messages.map(({ message, parentId }) => ({ message, parent: parentId }));
    return (yield* attachAll(sql, sessionId, attached)).inserted.filter(Boolean).length;
  },
});

/** A message, and what it is attached to. */
interface Attached {
  readonly message: EncodedMessage;
  readonly parent: ParentRef;
}

function* attachAll(sql: Dialect, sessionId: string, messages: readonly Attached[]): Operation<Appended> {
  const inserted: boolean[] = [];
  let end: Appended = { inserted, lastId: null, visibleTokens: 0 };
  for (const some of batches(messages)) {
    const [{ message, parent }] = some;
    const rows = () => some.map((one) => rowOf(one.message, attachmentTo(one.parent)));
    end =
      sizeOf(message) > MAX_APPENDED
        ? yield* appendMessages(sql, sessionId, [message], parent)
        : resultOf(yield* appendRows(sessionId, rows(), undefined));
    inserted.push(...end.inserted);
  }
  return { ...end, inserted };
}

function sizeOf({ content, media }: EncodedMessage): number {
  return media.reduce((size, { data }) => size + data.length, content.length);
}

type Batch = readonly [Attached, ...Attached[]];

function* batches(messages: readonly Attached[]): Generator<Batch> {
  let start = 0;
  let size = 0;
  for (const [index, { message }] of messages.entries()) {
    const more = sizeOf(message);
    if (index > start && (index - start === MOST_MESSAGES || size + more > MOST_TEXT)) {
      yield messages.slice(start, index) as unknown as Batch;
      start = index;
      size = 0;
    }
    size += more;
  }
  if (start < messages.length) yield messages.slice(start) as unknown as Batch;
}
