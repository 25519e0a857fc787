import type { Erased } from "../api.js";
import type { WriteInit } from "../client-options.js";
import { Blocks } from "./blocks-resource.js";
import { Entries } from "./entries-resource.js";
import { type Owner, Resource } from "./resource.js";

/** Blocks and entries: texts of the prompt, and texts that are searched. */
export class Memory extends Resource {
  readonly blocks = new Blocks(this.transport);
  readonly entries = new Entries(this.transport);

  /** Erases all blocks and entries of an owner, with their versions. */
  delete(owner: Owner, init?: WriteInit): Promise<Erased> {
    return this.call("DELETE /v1/memory/{owner}", [owner], init);
  }
}
