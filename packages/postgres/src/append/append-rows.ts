import type { EncodedMessage } from "@stemma/model";
import { joinedTerms, searchDocument, storableText } from "@stemma/model";
import type { Appended, Operation, ParentRef, Statement } from "@stemma/store";
import { isoNow } from "@stemma/store";
import { SESSION_OWNED } from "../error.js";

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

/**
 * `assistant_use` makes sure that a session, which it registers if it must, is a user's: one of nobody becomes theirs. It comes
 * before an append in the same call, and locks the session first.
 */
export const USE = `CREATE OR REPLACE FUNCTION assistant_use(p_session TEXT, p_user TEXT, p_now TIMESTAMPTZ)
RETURNS BOOLEAN LANGUAGE plpgsql AS $$
DECLARE
  owner TEXT;
BEGIN
  SELECT s.user_id INTO owner FROM assistant_sessions s WHERE s.id = p_session FOR UPDATE;
  IF NOT FOUND THEN
    PERFORM assistant_lock(p_session);
    INSERT INTO assistant_sessions (id, name, user_id, created_at, updated_at)
      VALUES (p_session, p_session, p_user, p_now, p_now) ON CONFLICT DO NOTHING;
    SELECT s.user_id INTO STRICT owner FROM assistant_sessions s WHERE s.id = p_session;
  END IF;
  IF owner IS NULL THEN
    UPDATE assistant_sessions SET user_id = p_user WHERE id = p_session;
  ELSIF owner <> p_user THEN
    RAISE EXCEPTION 'session of another user' USING ERRCODE = '${SESSION_OWNED}', DETAIL = p_session;
  END IF;
  RETURN TRUE;
END $$`;

/** The same appends by a user: see `assistant_use`. One function each, so that the server which has the session runs all of it. */
export const APPEND_AS = `CREATE OR REPLACE FUNCTION assistant_append_as(p_session TEXT, p_user TEXT, p_now TIMESTAMPTZ,
  p_attach TEXT, p_parent TEXT, p_id TEXT, p_role TEXT, p_content TEXT, p_text TEXT, p_tokens INTEGER, p_dated TEXT,
  p_length INTEGER, p_terms TEXT, p_media TEXT)
RETURNS TEXT LANGUAGE plpgsql AS $$
BEGIN
  PERFORM assistant_use(p_session, p_user, p_now);
  RETURN assistant_append(p_session, p_now, p_attach, p_parent, p_id, p_role, p_content, p_text, p_tokens, p_dated,
    p_length, p_terms, p_media);
END $$`;

/** See `APPEND_AS`, of several messages. */
export const APPEND_ALL_AS = `CREATE OR REPLACE FUNCTION assistant_append_all_as(p_session TEXT, p_user TEXT, p_now TIMESTAMPTZ,
  p_messages TEXT)
RETURNS TEXT LANGUAGE plpgsql AS $$
BEGIN
  PERFORM assistant_use(p_session, p_user, p_now);
  RETURN assistant_append_all(p_session, p_now, p_messages);
END $$`;
