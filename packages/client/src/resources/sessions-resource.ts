import type { ErasureReceipt, Session } from "../api.js";
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
