import type { EncodedMessage } from "../../model/codec.js";
import { joinedTerms } from "../../model/joined-terms.js";
import { storableText } from "../../model/storable-text.js";
import { searchDocument } from "../../model/text.js";
import type { ParentRef } from "../contract.js";
import type { Appended } from "../engine/dialect.js";
import type { Operation, Statement } from "../engine/operation.js";
import { isoNow } from "../operations/clock.js";

/** A message with more characters is appended by itself, so that others need not wait for it. */
const MAX_TOGETHER = 20_000;
const APPEND_TOGETHER = "SELECT assistant_append_each(?) AS results";

interface Attachment {
  readonly attach: "leaf" | "root" | "message";
  readonly parent: string | null;
}

/** What the functions are told of a parent. */
export function attachmentTo(parent: ParentRef): Attachment {
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

/** Appends one message: alone, or together with those of other sessions. */
export function* appendRow(
  sessionId: string,
  row: AppendedRow,
  userId: string | undefined,
): Operation<Result | undefined> {
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

/** Appends several messages by one call. */
export function* appendRows(
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

/** What an append did, as the functions tell it. */
export function resultOf(row: Result | undefined): Appended {
  const [flags, lastId, visibleTokens] = JSON.parse((row as Result).result);
  return { inserted: Array.from(String(flags), (flag) => flag === "1"), lastId, visibleTokens };
}

/** A message as the functions take it. */
export function rowOf(message: EncodedMessage, attachment: Attachment): AppendedRow {
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
