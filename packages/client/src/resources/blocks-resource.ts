import type { Block, Version } from "../api.js";
import type { ReadInit, WriteInit } from "../client-options.js";
import type { Pages } from "../pages.js";
import { type Body, type Owner, type Query, Resource } from "./resource.js";

const ALL = "/v1/memory/{owner}/blocks";
const ONE = `${ALL}/{label}` as const;

/** Blocks: labelled texts of the prompt. */
export class Blocks extends Resource {
  /** Lists the blocks of an owner. */
  list(owner: Owner, query?: Query<`GET ${typeof ALL}`>, init?: ReadInit): Pages<Block> {
    return this.pages(`GET ${ALL}`, [owner], init, query);
  }

  /** Reads a block. Errors: `BLOCK_NOT_FOUND`. */
  get(owner: Owner, label: string, init?: ReadInit): Promise<Block> {
    return this.call(`GET ${ONE}`, [owner, label], init);
  }

  /** Writes a block. Errors: `BLOCK_CONFLICT` where `ifMatch` or `ifNoneMatch` says otherwise. */
  set(owner: Owner, label: string, content: string, init?: WriteInit): Promise<Block> {
    return this.call(`PUT ${ONE}`, [owner, label], init, { content });
  }

  /** Appends a text on a new line; the oldest lines go where the block grows beyond `maxTokens`. */
  append(owner: Owner, label: string, text: Body<`PATCH ${typeof ONE}`>, init?: WriteInit): Promise<Block> {
    return this.call(`PATCH ${ONE}`, [owner, label], init, text);
  }

  /** Erases a block, with its versions. Errors: `BLOCK_NOT_FOUND`, `BLOCK_CONFLICT`. */
  delete(owner: Owner, label: string, init?: WriteInit): Promise<undefined> {
    return this.call(`DELETE ${ONE}`, [owner, label], init);
  }

  /** Lists the versions of a block. */
  versions(owner: Owner, label: string, init?: ReadInit): Pages<Version> {
    return this.pages(`GET ${ONE}/versions`, [owner, label], init);
  }

  /** Writes an old version as a new one. Errors: `VERSION_NOT_FOUND`. */
  restore(owner: Owner, label: string, version: number, init?: WriteInit): Promise<Block> {
    return this.call(`POST ${ONE}/restore`, [owner, label], init, { version });
  }
}
