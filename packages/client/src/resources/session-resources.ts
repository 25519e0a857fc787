import type { ErasureReceipt, Session, StoredRecord } from "../api.js";
import type { ReadInit, WriteInit } from "../client-options.js";
import type { Pages } from "../pages.js";
import { LINES_TYPE } from "../request.js";
import { type Answer, type Body, type Query, Resource, SESSION } from "./resource.js";

/** The registry of sessions. */
export class Sessions extends Resource {
  /** Registers a session. One whose id is registered stays as it is. */
  create(session: Body<"POST /v1/sessions">, init?: WriteInit): Promise<Session> {
    return this.call("POST /v1/sessions", [], init, session);
  }

  /** Lists sessions: those changed last come first, unless `order` says otherwise. */
  list(query?: Query<"GET /v1/sessions">, init?: ReadInit): Pages<Session> {
    return this.pages("GET /v1/sessions", [], init, query);
  }

  /** Lists sessions by fields of their metadata, too; null for a field that is not there. */
  query(filters: Body<"POST /v1/sessions/query">, init?: ReadInit): Pages<Session> {
    return this.pages("POST /v1/sessions/query", [], init, filters);
  }

  /** Reads a session's entry; its tag changes with each write to the session. Errors: `SESSION_NOT_FOUND`. */
  get(session: string, init?: ReadInit): Promise<Session> {
    return this.call(`GET ${SESSION}`, [session], init);
  }

  /** Changes the name, or fields of the metadata: null removes a field. */
  update(session: string, change: Body<"PATCH /v1/sessions/{session}">, init?: WriteInit): Promise<Session> {
    return this.call(`PATCH ${SESSION}`, [session], init, change);
  }

  /** Erases a session, with everything that is kept for it. */
  delete(session: string, init?: WriteInit): Promise<ErasureReceipt> {
    return this.call(`DELETE ${SESSION}`, [session], init);
  }

  /** Copies the path to a message into a new session. */
  fork(session: string, copy: Body<"POST /v1/sessions/{session}/fork">, init?: WriteInit): Promise<Session> {
    return this.call(`POST ${SESSION}/fork`, [session], init, copy);
  }

  /** Ends a session, and resolves to the new one, which begins with the summary. */
  split(session: string, next: Body<"POST /v1/sessions/{session}/split">, init?: WriteInit): Promise<Session> {
    return this.call(`POST ${SESSION}/split`, [session], init, next);
  }

  /** Exports a session, in pieces of text: `jsonl`, the default, has everything. */
  export(session: string, query: Query<`GET ${typeof SESSION}/export`> = {}, init?: ReadInit): AsyncGenerator<string> {
    const { format } = query;
    const accept = format === "markdown" || format === "html" ? `text/${format}` : LINES_TYPE;
    return this.transport.text(`GET ${SESSION}/export`, { ids: [session], query, init, accept });
  }

  /** Adds the messages of a file to a session; those that are stored stay as they are. A stream is sent once, whatever happens. */
  import(
    session: string,
    file: Body<"POST /v1/sessions/{session}/import">,
    query?: Query<"POST /v1/sessions/{session}/import">,
    init?: WriteInit,
  ): Promise<Answer<"POST /v1/sessions/{session}/import">> {
    return this.call(`POST ${SESSION}/import`, [session], init, file, query);
  }
}

/** Turns of a program with a model of its own. */
export class Turns extends Resource {
  /** Gives what a request to a model needs, after the user's message was appended: the prompt, the history, and tools as JSON Schema. */
  prepare(
    session: string,
    turn: Body<`POST ${typeof SESSION}/turn`> = {},
    init?: WriteInit,
  ): Promise<Answer<`POST ${typeof SESSION}/turn`>> {
    return this.call(`POST ${SESSION}/turn`, [session], init, turn);
  }

  /** Runs a tool that a turn gave: its `output` is the text for the model. Errors: `TOOL_REFUSED` where the user must agree first. */
  runTool(
    session: string,
    tool: string,
    call: Body<`POST ${typeof SESSION}/tools/{tool}`>,
    init?: WriteInit,
  ): Promise<Answer<`POST ${typeof SESSION}/tools/{tool}`>> {
    return this.call(`POST ${SESSION}/tools/{tool}`, [session, tool], init, call);
  }

  /** Has the server learn from what is new. */
  learn(session: string, init?: WriteInit): Promise<Answer<`POST ${typeof SESSION}/learn`>> {
    return this.call(`POST ${SESSION}/learn`, [session], init);
  }
}

const RECORD_LABELS = `${SESSION}/records` as const;
const RECORDS = `${RECORD_LABELS}/{label}` as const;
const RECORD = `${RECORDS}/{key}` as const;

/** Records: JSON or bytes of a program's own, kept for a session and erased with it. */
export class Records extends Resource {
  /** Lists the labels under which a session has records. */
  labels(session: string, init?: ReadInit): Pages<{ label: string }> {
    return this.pages(`GET ${RECORD_LABELS}`, [session], init);
  }

  /** Lists records in the order of their keys. */
  list(session: string, label: string, query?: Query<`GET ${typeof RECORDS}`>, init?: ReadInit): Pages<StoredRecord> {
    return this.pages(`GET ${RECORDS}`, [session, label], init, query);
  }

  /** Reads a record. Errors: `NOT_FOUND`. */
  get(
    session: string,
    label: string,
    key: string,
    query?: Query<`GET ${typeof RECORD}`>,
    init?: ReadInit,
  ): Promise<StoredRecord> {
    return this.call(`GET ${RECORD}`, [session, label, key], init, undefined, query);
  }

  /** Writes a record: a `value` of JSON, or `bytes` as base64. Errors: `RECORD_CONFLICT`. */
  set(
    session: string,
    label: string,
    key: string,
    content: Body<`PUT ${typeof RECORD}`>,
    init?: WriteInit,
  ): Promise<StoredRecord> {
    return this.call(`PUT ${RECORD}`, [session, label, key], init, content);
  }

  /** Deletes a record. Errors: `NOT_FOUND`, `RECORD_CONFLICT`. */
  delete(session: string, label: string, key: string, init?: WriteInit): Promise<undefined> {
    return this.call(`DELETE ${RECORD}`, [session, label, key], init);
  }
}

const USAGE = `${SESSION}/usage` as const;

/** How many tokens were used, and what they cost. */
export class Usage extends Resource {
  /** Sums usage up by day, model or session. */
  sum(query: Query<"GET /v1/usage">, init?: ReadInit): Pages<Answer<"GET /v1/usage">["data"][number]> {
    return this.pages("GET /v1/usage", [], init, query);
  }

  /** Reads a session's usage by day and model. */
  list(session: string, init?: ReadInit): Pages<Answer<`GET ${typeof USAGE}`>["data"][number]> {
    return this.pages(`GET ${USAGE}`, [session], init);
  }

  /** Counts a request to a model. */
  add(session: string, usage: Body<`POST ${typeof USAGE}`>, init?: WriteInit): Promise<undefined> {
    return this.call(`POST ${USAGE}`, [session], init, usage);
  }
}
