import type { TreeNode } from "../api.js";
import type { ReadInit, WriteInit } from "../client-options.js";
import { valuesOf } from "../lines.js";
import type { Pages } from "../pages.js";
import { LINES_TYPE } from "../request.js";
import { type Answer, type Query, Resource, SESSION } from "./resource.js";

type Leaf = Answer<`GET ${typeof SESSION}/leaf`>;

/** The trees that messages form, and which branch is active. */
export class Tree extends Resource {
  /** Reads where each message stands, the newest first, page by page. */
  list(session: string, query?: Query<`GET ${typeof SESSION}/tree`>, init?: ReadInit): Pages<TreeNode> {
    return this.pages(`GET ${SESSION}/tree`, [session], init, query);
  }

  /** Reads where each message stands with one request. Errors: `CONNECTION_LOST` where it breaks off. */
  stream(session: string, init?: ReadInit): AsyncGenerator<TreeNode> {
    return valuesOf(this.transport.text(`GET ${SESSION}/tree`, { ids: [session], init, accept: LINES_TYPE }));
  }

  /** Reads the id of the active leaf: null where the next message is a new root. */
  leaf(session: string, init?: ReadInit): Promise<Leaf> {
    return this.call(`GET ${SESSION}/leaf`, [session], init);
  }

  /** Makes a message the active leaf; null: what is appended next is a new root. Errors: `LEAF_MOVED`. */
  setLeaf(
    session: string,
    messageId: string | null,
    where?: { readonly expectedLeaf?: string | null | undefined },
    init?: WriteInit,
  ): Promise<Leaf> {
    return this.call(`PUT ${SESSION}/leaf`, [session], init, { messageId, ...where });
  }

  /** Makes the branch of a message the active one. Resolves to its newest leaf, which is active now. */
  select(session: string, messageId: string, init?: WriteInit): Promise<Leaf> {
    return this.call(`POST ${SESSION}/select`, [session], init, { messageId });
  }

  /** Goes back to a message: the session's own blocks and entries become what they were then. */
  rewind(session: string, messageId: string, init?: WriteInit): Promise<undefined> {
    return this.call(`POST ${SESSION}/rewind`, [session], init, { messageId });
  }
}
