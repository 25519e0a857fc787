import type { StoredRecord } from "../api.js";
import type { ReadInit, WriteInit } from "../client-options.js";
import type { Pages } from "../pages.js";
import { type Body, type Query, Resource, SESSION } from "./resource.js";

const LABELS = `${SESSION}/records` as const;
const ALL = `${LABELS}/{label}` as const;
const ONE = `${ALL}/{key}` as const;

/** Records: JSON or bytes of a program's own, kept for a session and erased with it. */
export class Records extends Resource {
  /** Lists the labels under which a session has records. */
  labels(session: string, init?: ReadInit): Pages<{ label: string }> {
    return this.pages(`GET ${LABELS}`, [session], init);
  }

  /** Lists records in the order of their keys. */
  list(session: string, label: string, query?: Query<`GET ${typeof ALL}`>, init?: ReadInit): Pages<StoredRecord> {
    return this.pages(`GET ${ALL}`, [session, label], init, query);
  }

  /** Reads a record. Errors: `NOT_FOUND`. */
  get(
    session: string,
    label: string,
    key: string,
    query?: Query<`GET ${typeof ONE}`>,
    init?: ReadInit,
  ): Promise<StoredRecord> {
    return this.call(`GET ${ONE}`, [session, label, key], init, undefined, query);
  }

  /** Writes a record: a `value` of JSON, or `bytes` as base64. Errors: `RECORD_CONFLICT`. */
  set(
    session: string,
    label: string,
    key: string,
    content: Body<`PUT ${typeof ONE}`>,
    init?: WriteInit,
  ): Promise<StoredRecord> {
    return this.call(`PUT ${ONE}`, [session, label, key], init, content);
  }

  /** Deletes a record. Errors: `NOT_FOUND`, `RECORD_CONFLICT`. */
  delete(session: string, label: string, key: string, init?: WriteInit): Promise<undefined> {
    return this.call(`DELETE ${ONE}`, [session, label, key], init);
  }
}
