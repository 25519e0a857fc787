import fc from "fast-check";
import { type EncodedMessage, encodeMessage } from "../../packages/model/src/messages/codec.js";
import { summaryMessage } from "../../packages/model/src/messages/compactions.js";
import { estimateMessageTokens } from "../../packages/model/src/messages/tokens.js";
import { contents, messageWith, numbers, texts, times, values } from "./boundary-values.js";

/** A database, below any store. */
export interface OldDatabase {
  /** The names of a table's columns; none where there is no such table. */
  columns(table: string): Promise<string[]>;
  /** Writes a row, unless one with its key is there, or the engine refuses it. */
  insert(table: string, row: Row): Promise<void>;
  all(table: string): Promise<Row[]>;
}

export type Row = Record<string, unknown>;

// Half of a surrogate pair never came into a column as it was: clients wrote another text in its place.
const keys = texts.filter((text) => text.isWellFormed());

const sqlTimes = times.map((time) => time.slice(0, 19).replace("T", " "));

const sample = fc.record({
  session: keys,
  other: keys,
  id: keys,
  parent: fc.option(keys),
  message: messageWith(fc.constant("m")),
  name: keys,
  key: keys,
  label: keys,
  content: contents.filter((text) => text.isWellFormed()),
  value: values,
  metadata: fc.dictionary(texts, values, { maxKeys: 2 }),
  tokens: fc.constantFrom(0, 1, 2 ** 31, Number.MAX_SAFE_INTEGER),
  cost: numbers.filter(Number.isFinite),
  time: times,
  sqlTime: sqlTimes,
});

type Sample = typeof sample extends fc.Arbitrary<infer T> ? T : never;

/** The rows of some samples as `agents` wrote them, and as the documents show them for Postgres. */
export async function writeAgentsRows(database: OldDatabase, count: number): Promise<void> {
  for (const [index, each] of fc.sample(sample, { numRuns: count }).entries()) {
    for (const [table, row] of Object.entries(agentsRows(each, index))) await write(database, table, row);
  }
}

// What both kinds of registry have.
function sessionRow({ session, other, name, key, tokens, cost }: Sample, time: string): Row {
  return {
    id: session,
    name,
    parent_session_id: other,
    model: name,
    source: key,
    input_tokens: tokens,
    estimated_cost: cost,
    end_reason: name,
    created_at: time,
    updated_at: time,
  };
}

function agentsRows(given: Sample, index: number): Record<string, Row> {
  const { session, id, parent, message, key, label, content, sqlTime } = given;
  return {
    assistant_sessions: {
      ...sessionRow(given, sqlTime),
      output_tokens: 0,
    },
    assistant_messages: {
      id,
      session_id: session,
      parent_id: parent,
      role: message.role,
      content: JSON.stringify({ ...message, id }),
      created_at: sqlTime,
    },
    assistant_compactions: {
      id: key,
      session_id: session,
      summary: content,
      from_message_id: id,
      to_message_id: id,
      created_at: sqlTime,
    },
    cf_agents_context_blocks: { label: index % 2 === 0 ? label : `${label}_${session}`, content, updated_at: sqlTime },
    cf_agents_search_entries: { label, key, content, created_at: sqlTime, updated_at: sqlTime },
  };
}

async function write(database: OldDatabase, table: string, row: Row): Promise<void> {
  const columns = await database.columns(table);
  const known = Object.entries(row).filter(([name]) => columns.includes(name));
  if (known.length > 0) await database.insert(table, Object.fromEntries(known));
}

/** Rows of a version of our own tables, each in a session of its own. A column or table that the version lacks is left out. */
export async function writeOwnRows(database: OldDatabase, count: number): Promise<void> {
  const sessions = new Set<string>();
  for (const [index, each] of fc.sample(sample, { numRuns: count }).entries()) {
    const encoded = encodedOf(each);
    if (encoded === null || sessions.has(each.session)) continue;
    sessions.add(each.session);
    for (const [table, row] of Object.entries(ownRows(each, encoded, index + 1))) await write(database, table, row);
  }
}

// What no version of ours stored is no old row.
function encodedOf({ message, id, ...given }: Sample): EncodedMessage | null {
  const { session, other, name, key, label, content } = given;
  if ([session, other, name, key, label, content].some((text) => text.includes("\0") || !text.isWellFormed()))
    return null;
  if (key === "" || label === "") return null;
  try {
    const encoded = encodeMessage({ ...message, id });
    return encoded.media.length === 0 ? encoded : null;
  } catch {
    return null;
  }
}

const ROWS_OF_A_SESSION = 2 ** 28;

function ownRows(given: Sample, encoded: EncodedMessage, no: number): Record<string, Row> {
  const { session, other, name, key, label, content, value, metadata, tokens, cost, time } = given;
  const n = no * ROWS_OF_A_SESSION + 1;
  const base = { session_id: session, label, key };
  return {
    assistant_sessions: {
      no,
      registered: no,
      ...sessionRow(given, time),
      user_id: other === "" ? null : other,
      metadata: JSON.stringify(metadata),
    },
    assistant_messages: {
      n,
      id: encoded.id,
      session_id: session,
      parent_id: null,
      role: encoded.role,
      created_at: time,
      branch: 0,
      tokens: encoded.tokens,
      dated_at: encoded.createdAt,
      content: encoded.content,
      text_content: encoded.text,
    },
    assistant_compactions: {
      n,
      id: key,
      session_id: session,
      summary: content,
      from_message_id: encoded.id,
      to_message_id: encoded.id,
      created_at: time,
      from_n: n,
      to_n: n,
      tokens: estimateMessageTokens(summaryMessage({ id: key, summary: content })),
    },
    cf_agents_context_blocks: { session_id: session, kind: "block", label, content, version: 1, updated_at: time },
    cf_agents_search_entries: {
      ...base,
      content,
      value: value === undefined ? null : JSON.stringify(value),
      created_at: time,
      updated_at: time,
    },
    assistant_records: { ...base, version: 1, expires_at: null, value: new TextEncoder().encode(content) },
    assistant_usage: {
      session_id: session,
      day: time.slice(0, 10),
      model: name,
      requests: 1,
      input_tokens: tokens,
      output_tokens: 0,
      cost,
    },
  };
}
