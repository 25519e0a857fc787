import type { EncodedMessage } from "../../model/codec.js";
import { joinedTerms } from "../../model/joined-terms.js";
import { storableText } from "../../model/storable-text.js";
import { searchDocument } from "../../model/text.js";
import type { ParentRef } from "../contract.js";
import type { Appended, EncodedTree, NativeOperations } from "../engine/dialect.js";
import type { Operation, Statement } from "../engine/operation.js";
import { importMessages } from "../operations/messages.js";
import { isoNow } from "../operations/session-head.js";
import type { Placement } from "./placement.js";
import { isMessageId, readPath, readRecent } from "./read-path.js";

/** More than this, in characters, goes to the database message by message. */
const MAX_APPENDED = 32_000_000;
const IMPORTED_AT_ONCE = 500;

/** A message with more characters is appended by itself, so that others need not wait for it. */
const MAX_TOGETHER = 20_000;
const APPEND_TOGETHER = "SELECT assistant_append_each(?) AS results";

/** Appends and histories in one round trip each, by the functions of `postgres-functions.ts`. */
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

interface Attachment {
  readonly attach: "leaf" | "root" | "message";
  readonly parent: string | null;
}

function attachmentTo(parent: ParentRef): Attachment {
  if (parent === undefined) return { attach: "leaf", parent: null };
  return parent === null ? { attach: "root", parent } : { attach: "message", parent };
}

/** What the functions take of a message, in their order. */
interface AppendedRow extends Attachment {
  readonly id: string;
  readonly role: string;
  readonly content: string;
  readonly text: string;
  readonly tokens: number;
  readonly dated: string | null;
  readonly length: number;
  readonly terms: string;
  readonly media: string | null;
}

interface Result {
  /** JSON of: a 1 for each message that was inserted, a 0 for each that was known; the leaf's id; its visible tokens. */
  readonly result: string;
}

// A function for each: what stands beside a call, the server that has the session could not run with it.
const CALLS = {
  append: callOf("assistant_append", 13),
  appendAs: callOf("assistant_append_as", 14),
  appendAll: callOf("assistant_append_all", 3),
  appendAllAs: callOf("assistant_append_all_as", 4),
};

function callOf(name: string, values: number): string {
  return `SELECT ${name}(${Array.from({ length: values }, () => "?").join(", ")}) AS result`;
}

function* appendRow(sessionId: string, row: AppendedRow, userId: string | undefined): Operation<Result | undefined> {
  const { attach, parent, id, role, content, text, tokens, dated, length, terms, media } = row;
  const now = isoNow();
  const given = [now, attach, parent, id, role, content, text, tokens, dated, length, terms, media];
  const isShort = content.length <= MAX_TOGETHER && media === null;
  const statement: Statement = {
    sql: userId === undefined ? CALLS.append : CALLS.appendAs,
    values: userId === undefined ? [sessionId, ...given] : [sessionId, userId, ...given],
    isFrequent: true,
    together: isShort
      ? {
          sql: APPEND_TOGETHER,
          given: {
            session: sessionId,
            owner: userId,
            now,
            attach,
            parent,
            id,
            role,
            content,
            text,
            tokens,
            dated,
            length,
            terms,
            media,
          },
        }
      : undefined,
  };
  return (yield statement)[0] as Result | undefined;
}

function* appendRows(
  sessionId: string,
  rows: readonly AppendedRow[],
  userId: string | undefined,
): Operation<Result | undefined> {
  const given = [isoNow(), JSON.stringify(rows)];
  const statement: Statement = {
    sql: userId === undefined ? CALLS.appendAll : CALLS.appendAllAs,
    values: userId === undefined ? [sessionId, ...given] : [sessionId, userId, ...given],
    isFrequent: true,
  };
  return (yield statement)[0] as Result | undefined;
}

function resultOf(row: Result | undefined): Appended {
  const [flags, lastId, visibleTokens] = JSON.parse((row as Result).result);
  return { inserted: Array.from(String(flags), (flag) => flag === "1"), lastId, visibleTokens };
}

function rowOf(message: EncodedMessage, attachment: Attachment): AppendedRow {
  const { id, role, content, tokens, createdAt, media } = message;
  const terms = joinedTerms(searchDocument(message));
  return {
    // Not spread: V8 takes a microsecond for each property that stands behind a spread.
    attach: attachment.attach,
    parent: attachment.parent,
    id,
    role,
    content,
    text: storableText(message.text),
    tokens,
    dated: createdAt,
    length: termsIn(terms),
    terms,
    media: media.length === 0 ? null : JSON.stringify(media),
  };
}

// A space stands between two terms.
function termsIn(terms: string): number {
  let count = terms === "" ? 0 : 1;
  for (let at = terms.indexOf(" "); at !== -1; at = terms.indexOf(" ", at + 1)) count += 1;
  return count;
}

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
