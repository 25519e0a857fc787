import type { EncodedMessage } from "../../model/codec.js";
import type { EncodedTree, NativeOperations } from "../engine/dialect.js";
import { importMessages } from "../operations/messages.js";
import { appendRow, appendRows, attachmentTo, resultOf, rowOf } from "./append-rows.js";
import type { Placement } from "./placement.js";
import { isMessageId, readPath, readRecent } from "./read-path.js";

/** More than this, in characters, goes to the database message by message. */
const MAX_APPENDED = 32_000_000;
const IMPORTED_AT_ONCE = 500;

/** Appends and histories in one round trip each, by functions of the database: see `append.ts`, `append-all.ts`, `path.ts` and `recent.ts`. */
export const postgresNative = (placement: Placement): NativeOperations => ({
  mayAppend(messages, parent) {
    if (messages.length === 0 || !isMessageId(parent ?? "")) return false;
    return messages.reduce((size, message) => size + sizeOf(message), 0) <= MAX_APPENDED;
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

  *importMessages(sql, sessionId, messages) {
    // The session is registered all the same.
    if (messages.length === 0) return yield* importMessages(sql, sessionId, messages);
    let inserted = 0;
    for (const some of batches(messages)) {
      const [one] = some;
      if (one !== undefined && sizeOf(one.message) > MAX_APPENDED) {
        inserted += yield* importMessages(sql, sessionId, some);
        continue;
      }
      const rows = some.map(({ message, parentId }) => rowOf(message, attachmentTo(parentId)));
      inserted += resultOf(yield* appendRows(sessionId, rows, undefined)).inserted.filter(Boolean).length;
    }
    return inserted;
  },
});

function sizeOf({ content, media }: EncodedMessage): number {
  return media.reduce((size, { data }) => size + data.length, content.length);
}

function* batches(messages: EncodedTree["messages"]): Generator<EncodedTree["messages"]> {
  let start = 0;
  let size = 0;
  for (const [index, { message }] of messages.entries()) {
    const more = sizeOf(message);
    if (index > start && (index - start === IMPORTED_AT_ONCE || size + more > MAX_APPENDED)) {
      yield messages.slice(start, index);
      start = index;
      size = 0;
    }
    size += more;
  }
  if (start < messages.length) yield messages.slice(start);
}
