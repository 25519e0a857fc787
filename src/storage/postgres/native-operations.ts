import type { EncodedMessage } from "../../model/codec.js";
import { storableText } from "../../model/storable-text.js";
import { documentTerms } from "../../model/terms.js";
import { searchDocument } from "../../model/text.js";
import type { ParentRef } from "../contract.js";
import type { Appended, EncodedTree, NativeOperations } from "../engine/dialect.js";
import type { Operation, SqlValue } from "../engine/operation.js";
import { importMessages } from "../operations/messages.js";
import { isoNow } from "../operations/session-head.js";
import { isMessageId, readPath, readRecent } from "./read-path.js";

/** More than this, in characters, goes to the database piece by piece. */
const MAX_APPENDED = 32_000_000;
const IMPORTED_AT_ONCE = 500;

/** Appends and histories in one round trip each, by the functions of `postgres-functions.ts`. */
export const postgresNative: NativeOperations = {
  mayAppend(messages, parent) {
    if (messages.length === 0 || !isMessageId(parent ?? "")) return false;
    return messages.reduce((size, message) => size + sizeOf(message), 0) <= MAX_APPENDED;
  },

  *append(sessionId, messages, parent, userId) {
    const [one, ...others] = messages as [EncodedMessage, ...EncodedMessage[]];
    if (others.length === 0) {
      const row = rowOf(one, attachmentTo(parent));
      const values = FIELDS.map((field) => row[field]);
      return resultOf(yield* appendAs(userId, "assistant_append", sessionId, ...values));
    }
    const rows = messages.map((message, index) =>
      rowOf(message, index === 0 ? attachmentTo(parent) : attachmentTo((messages[index - 1] as EncodedMessage).id)),
    );
    return resultOf(yield* appendRows(sessionId, rows, userId));
  },

  path: readPath,
  recent: readRecent,

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
};

interface Attachment {
  readonly attach: "leaf" | "root" | "message";
  readonly parent: string | null;
}

function attachmentTo(parent: ParentRef): Attachment {
  if (parent === undefined) return { attach: "leaf", parent: null };
  return parent === null ? { attach: "root", parent } : { attach: "message", parent };
}

/** What the functions take of a message, in their order. */
const FIELDS = [
  "attach",
  "parent",
  "id",
  "role",
  "content",
  "text",
  "tokens",
  "dated",
  "length",
  "terms",
  "media",
] as const;

type AppendedRow = Readonly<Record<(typeof FIELDS)[number], SqlValue>>;

interface Result {
  /** JSON of: a 1 for each message that was inserted, a 0 for each that was known; the leaf's id; its visible tokens. */
  readonly result: string;
}

function appendRows(
  sessionId: string,
  rows: readonly AppendedRow[],
  userId: string | undefined,
): Operation<Result | undefined> {
  return appendAs(userId, "assistant_append_all", sessionId, JSON.stringify(rows));
}

// A function for each: what stands beside a call, the server that has the session could not run with it.
function* appendAs(
  userId: string | undefined,
  name: "assistant_append" | "assistant_append_all",
  sessionId: string,
  ...values: SqlValue[]
): Operation<Result | undefined> {
  const [called, user] = userId === undefined ? [name, []] : [`${name}_as`, [userId]];
  const given = [sessionId, ...user, isoNow(), ...values];
  const sql = `SELECT ${called}(${given.map(() => "?").join(", ")}) AS result`;
  return (yield { sql, values: given, isFrequent: true })[0] as Result | undefined;
}

function resultOf(row: Result | undefined): Appended {
  const [flags, lastId, visibleTokens] = JSON.parse((row as Result).result);
  return { inserted: Array.from(String(flags), (flag) => flag === "1"), lastId, visibleTokens };
}

function rowOf(message: EncodedMessage, attachment: Attachment): AppendedRow {
  const { id, role, content, tokens, createdAt, media } = message;
  const terms = documentTerms(searchDocument(message));
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
    length: terms.length,
    terms: terms.join(" "),
    media: media.length === 0 ? null : JSON.stringify(media),
  };
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
