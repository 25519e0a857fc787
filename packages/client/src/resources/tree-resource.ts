import type { TreeNode } from "../api.js";
import type { ReadInit, WriteInit } from "../client-options.js";
import { valuesOf } from "../lines.js";
import type { Pages } from "../pages.js";
import { LINES_TYPE } from "../request.js";
import { type Answer, type Query, Resource } from "./resource.js";

const ONE = "/v1/sessions/{session}";
type Leaf = Answer<`GET ${typeof ONE}/leaf`>;

/** The trees that messages form, and which branch is active. */
export class Tree extends Resource {
  /** Reads where each message stands, the newest first, page by page. */
  list(session: string, query?: Query<`GET ${typeof ONE}/tree`>, init?: ReadInit): Pages<TreeNode> {
    return this.pages(`GET ${ONE}/tree`, [session], init, query);
  }

  /** Reads where each message stands with one request. Errors: `CONNECTION_LOST` where it breaks off. */
  stream(session: string, init?: ReadInit): AsyncGenerator<TreeNode> {
    return valuesOf(this.transport.text(`GET ${ONE}/tree`, { ids: [session], init, accept: LINES_TYPE }));
  }

  /** Reads the id of the active leaf: null where the next message is a new root. */
  leaf(session: string, init?: ReadInit): Promise<Leaf> {
    return this.call(`GET ${ONE}/leaf`, [session], init);
  }

  /** Makes a message the active leaf; null: what is appended next is a new root. Errors: `LEAF_MOVED`. */
  setLeaf(
    session: string,
    messageId: string | null,
    where: { readonly expectedLeaf?: string | null | undefined } = {},
    init?: WriteInit,
  ): Promise<Leaf> {
    return this.call(`PUT ${ONE}/leaf`, [session], init, { messageId, ...where });
  }

  /** Makes the branch of a message the active one. Resolves to its newest leaf, which is active now. */
  select(session: string, messageId: string, init?: WriteInit): Promise<Leaf> {
    return this.call(`POST ${ONE}/select`, [session], init, { messageId });
  }

  /** Goes back to a message: the session's own blocks and entries become what they were then. */
  rewind(session: string, messageId: string, init?: WriteInit): Promise<undefined> {
    return this.call(`POST ${ONE}/rewind`, [session], init, { messageId });
  }
}
