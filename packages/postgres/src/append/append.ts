import type { EncodedMessage } from "@stemma/model";
import { joinedTerms, storableText } from "@stemma/model";
import type { Appended, Operation, ParentRef, Statement } from "@stemma/store";
import { isoNow } from "@stemma/store";

/** A message with more characters is appended by itself, so that others need not wait for it. */
const MAX_TOGETHER = 20_000;
const APPEND_TOGETHER = "SELECT assistant_append_each(?) AS results";

interface Attachment {
  readonly attach: "leaf" | "root" | "message";
  readonly parent: string | null;
}

/** A parent as the functions take it. */
export function attachmentTo(parent: ParentRef): Attachment {
  if (parent === undefined) return { attach: "leaf", parent: null };
  return parent === null ? { attach: "root", parent } : { attach: "message", parent };
}

/** A message as the functions take it, in their order. */
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

const APPEND_ONE = `SELECT assistant_append(${Array.from({ length: 14 }, () => "?").join(", ")}) AS result`;
const APPEND_SEVERAL = "SELECT assistant_append_all(?, ?, ?, ?) AS result";

/** Appends one message: alone, or together with those of other sessions. */
export function* appendRow(
  sessionId: string,
  row: AppendedRow,
  userId: string | undefined,
): Operation<Result | undefined> {
  const { attach, parent, id, role, content, text, tokens, dated, length, terms, media } = row;
  const now = isoNow();
  // Assigned to, not spread: V8 takes a microsecond for each property that stands behind a spread.
  const isShort = content.length <= MAX_TOGETHER && media === null;
  const statement: Statement = {
    sql: APPEND_ONE,
    values: [
      sessionId,
      userId ?? null,
      ...[now, attach, parent, id, role, content, text, tokens, dated, length, terms, media],
    ],
    isFrequent: true,
    together: isShort
      ? { sql: APPEND_TOGETHER, given: Object.assign(row, { session: sessionId, owner: userId, now }) }
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
  const values = [sessionId, userId ?? null, isoNow(), JSON.stringify(rows)];
  return (yield { sql: APPEND_SEVERAL, values, isFrequent: true })[0] as Result | undefined;
}

/** Reads the result of the functions. */
export function resultOf(row: Result | undefined): Appended {
  const [flags, lastId, visibleTokens] = JSON.parse((row as Result).result);
  return { inserted: Array.from(String(flags), (flag) => flag === "1"), lastId, visibleTokens };
}

/** Makes a message ready for the functions. */
export function rowOf(message: EncodedMessage, attachment: Attachment): AppendedRow {
  const { id, role, content, tokens, createdAt, media } = message;
  const terms = joinedTerms(message.document);
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
