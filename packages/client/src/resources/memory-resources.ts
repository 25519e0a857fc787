import type { Block, Entry, Erased, FoundEntry, Version } from "../api.js";
import type { ReadInit, WriteInit } from "../client-options.js";
import type { Pages } from "../pages.js";
import { type Answer, type Body, type Owner, type Query, Resource } from "./resource.js";

/** Blocks and entries: texts of the prompt, and texts that are searched. */
export class Memory extends Resource {
  readonly blocks = new Blocks(this.transport);
  readonly entries = new Entries(this.transport);

  /** Erases all blocks and entries of an owner, with their versions. */
  delete(owner: Owner, init?: WriteInit): Promise<Erased> {
    return this.call("DELETE /v1/memory/{owner}", [owner], init);
  }
}

const BLOCKS = "/v1/memory/{owner}/blocks";
const BLOCK = `${BLOCKS}/{label}` as const;

/** Blocks: labelled texts of the prompt. */
class Blocks extends Resource {
  /** Lists the blocks of an owner. */
  list(owner: Owner, query?: Query<`GET ${typeof BLOCKS}`>, init?: ReadInit): Pages<Block> {
    return this.pages(`GET ${BLOCKS}`, [owner], init, query);
  }

  /** Reads a block. Errors: `BLOCK_NOT_FOUND`. */
  get(owner: Owner, label: string, init?: ReadInit): Promise<Block> {
    return this.call(`GET ${BLOCK}`, [owner, label], init);
  }

  /** Writes a block. Errors: `BLOCK_CONFLICT` where `ifMatch` or `ifNoneMatch` says otherwise. */
  set(owner: Owner, label: string, content: string, init?: WriteInit): Promise<Block> {
    return this.call(`PUT ${BLOCK}`, [owner, label], init, { content });
  }

  /** Appends a text on a new line; the oldest lines go where the block grows beyond `maxTokens`. */
  append(owner: Owner, label: string, text: Body<`PATCH ${typeof BLOCK}`>, init?: WriteInit): Promise<Block> {
    return this.call(`PATCH ${BLOCK}`, [owner, label], init, text);
  }

  /** Erases a block, with its versions. Errors: `BLOCK_NOT_FOUND`, `BLOCK_CONFLICT`. */
  delete(owner: Owner, label: string, init?: WriteInit): Promise<undefined> {
    return this.call(`DELETE ${BLOCK}`, [owner, label], init);
  }

  /** Lists the versions of a block. */
  versions(owner: Owner, label: string, init?: ReadInit): Pages<Version> {
    return this.pages(`GET ${BLOCK}/versions`, [owner, label], init);
  }

  /** Writes an old version as a new one. Errors: `VERSION_NOT_FOUND`. */
  restore(owner: Owner, label: string, version: number, init?: WriteInit): Promise<Block> {
    return this.call(`POST ${BLOCK}/restore`, [owner, label], init, { version });
  }
}

const ENTRY_LABELS = "/v1/memory/{owner}/entries";
const ENTRIES = `${ENTRY_LABELS}/{label}` as const;
const ENTRY = `${ENTRIES}/{key}` as const;

/** Entries: texts with keys, which are searched. */
class Entries extends Resource {
  /** Lists the labels that have entries. */
  labels(owner: Owner, init?: ReadInit): Pages<Answer<`GET ${typeof ENTRY_LABELS}`>["data"][number]> {
    return this.pages(`GET ${ENTRY_LABELS}`, [owner], init);
  }

  /** Lists the entries that hold now, in the order of their keys. */
  list(owner: Owner, label: string, query?: Query<`GET ${typeof ENTRIES}`>, init?: ReadInit): Pages<Entry> {
    return this.pages(`GET ${ENTRIES}`, [owner, label], init, query);
  }

  /** Lists entries by tags and values. */
  query(owner: Owner, label: string, filters: Body<`POST ${typeof ENTRIES}/query`>, init?: ReadInit): Pages<Entry> {
    return this.pages(`POST ${ENTRIES}/query`, [owner, label], init, filters);
  }

  /** Searches entries: the best come first. */
  search(
    owner: Owner,
    label: string,
    query: string,
    filters?: Omit<Body<`POST ${typeof ENTRIES}/search`>, "query">,
    init?: ReadInit,
  ): Promise<{ data: FoundEntry[] }> {
    return this.call(`POST ${ENTRIES}/search`, [owner, label], init, { query, ...filters });
  }

  /** Reads an entry, also one that has ended or expired. Errors: `ENTRY_NOT_FOUND`. */
  get(owner: Owner, label: string, key: string, init?: ReadInit): Promise<Entry> {
    return this.call(`GET ${ENTRY}`, [owner, label, key], init);
  }

  /** Writes an entry. Times, tags and origin that are left out stay as they are. Errors: `ENTRY_CONFLICT`. */
  set(owner: Owner, label: string, key: string, entry: Body<`PUT ${typeof ENTRY}`>, init?: WriteInit): Promise<Entry> {
    return this.call(`PUT ${ENTRY}`, [owner, label, key], init, entry);
  }

  /** Appends a text on a new line, or makes the entry. */
  append(
    owner: Owner,
    label: string,
    key: string,
    text: Body<`PATCH ${typeof ENTRY}`>,
    init?: WriteInit,
  ): Promise<Entry> {
    return this.call(`PATCH ${ENTRY}`, [owner, label, key], init, text);
  }

  /** Removes an entry. Its versions stay, unless `keepVersions` is false. Errors: `ENTRY_NOT_FOUND`. */
  delete(
    owner: Owner,
    label: string,
    key: string,
    query?: Query<`DELETE ${typeof ENTRY}`>,
    init?: WriteInit,
  ): Promise<undefined> {
    return this.call(`DELETE ${ENTRY}`, [owner, label, key], init, undefined, query);
  }

  /** Lists the versions of an entry. */
  versions(owner: Owner, label: string, key: string, init?: ReadInit): Pages<Version> {
    return this.pages(`GET ${ENTRY}/versions`, [owner, label, key], init);
  }

  /** Writes an old version as a new one. Errors: `VERSION_NOT_FOUND`. */
  restore(owner: Owner, label: string, key: string, version: number, init?: WriteInit): Promise<Entry> {
    return this.call(`POST ${ENTRY}/restore`, [owner, label, key], init, { version });
  }
}
