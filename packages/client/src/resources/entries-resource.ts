import type { Entry, FoundEntry, Version } from "../api.js";
import type { ReadInit, WriteInit } from "../client-options.js";
import type { Pages } from "../pages.js";
import { type Answer, type Body, type Owner, type Query, Resource } from "./resource.js";

const LABELS = "/v1/memory/{owner}/entries";
const ALL = `${LABELS}/{label}` as const;
const ONE = `${ALL}/{key}` as const;

/** Entries: texts with keys, which are searched. */
export class Entries extends Resource {
  /** Lists the labels that have entries. */
  labels(owner: Owner, init?: ReadInit): Pages<Answer<`GET ${typeof LABELS}`>["data"][number]> {
    return this.pages(`GET ${LABELS}`, [owner], init);
  }

  /** Lists the entries that hold now, in the order of their keys. */
  list(owner: Owner, label: string, query?: Query<`GET ${typeof ALL}`>, init?: ReadInit): Pages<Entry> {
    return this.pages(`GET ${ALL}`, [owner, label], init, query);
  }

  /** Lists entries by tags and values. */
  query(owner: Owner, label: string, filters: Body<`POST ${typeof ALL}/query`>, init?: ReadInit): Pages<Entry> {
    return this.pages(`POST ${ALL}/query`, [owner, label], init, filters);
  }

  /** Searches entries: the best come first. */
  search(
    owner: Owner,
    label: string,
    query: string,
    filters?: Omit<Body<`POST ${typeof ALL}/search`>, "query">,
    init?: ReadInit,
  ): Promise<{ data: FoundEntry[] }> {
    return this.call(`POST ${ALL}/search`, [owner, label], init, { query, ...filters });
  }

  /** Reads an entry, also one that has ended or expired. Errors: `ENTRY_NOT_FOUND`. */
  get(owner: Owner, label: string, key: string, init?: ReadInit): Promise<Entry> {
    return this.call(`GET ${ONE}`, [owner, label, key], init);
  }

  /** Writes an entry. Times, tags and origin that are left out stay as they are. Errors: `ENTRY_CONFLICT`. */
  set(owner: Owner, label: string, key: string, entry: Body<`PUT ${typeof ONE}`>, init?: WriteInit): Promise<Entry> {
    return this.call(`PUT ${ONE}`, [owner, label, key], init, entry);
  }

  /** Appends a text on a new line, or makes the entry. */
  append(
    owner: Owner,
    label: string,
    key: string,
    text: Body<`PATCH ${typeof ONE}`>,
    init?: WriteInit,
  ): Promise<Entry> {
    return this.call(`PATCH ${ONE}`, [owner, label, key], init, text);
  }

  /** Removes an entry. Its versions stay, unless `keepVersions` is false. Errors: `ENTRY_NOT_FOUND`. */
  delete(
    owner: Owner,
    label: string,
    key: string,
    query?: Query<`DELETE ${typeof ONE}`>,
    init?: WriteInit,
  ): Promise<undefined> {
    return this.call(`DELETE ${ONE}`, [owner, label, key], init, undefined, query);
  }

  /** Lists the versions of an entry. */
  versions(owner: Owner, label: string, key: string, init?: ReadInit): Pages<Version> {
    return this.pages(`GET ${ONE}/versions`, [owner, label, key], init);
  }

  /** Writes an old version as a new one. Errors: `VERSION_NOT_FOUND`. */
  restore(owner: Owner, label: string, key: string, version: number, init?: WriteInit): Promise<Entry> {
    return this.call(`POST ${ONE}/restore`, [owner, label, key], init, { version });
  }
}
