import { valuesOf } from "../answers.js";
import type { Compaction, Message, TreeNode } from "../api.js";
import type { ReadInit, WriteInit } from "../client-options.js";
import type { Pages } from "../pages.js";
import { LINES_TYPE } from "../request.js";
import { type Answer, type Body, type Query, Resource, SESSION } from "./resource.js";

const MESSAGES = `${SESSION}/messages` as const;
const MESSAGE = `${MESSAGES}/{message}` as const;
type History = Query<`GET ${typeof MESSAGES}`>;

/** The messages of sessions. */
export class Messages extends Resource {
  /** Appends messages as one chain, all or nothing. An id that is stored stays as it is. Errors: `LEAF_MOVED`, `PARENT_NOT_FOUND`. */
  append(
    session: string,
    messages: readonly Message[] | Message,
    where?: Omit<Body<`POST ${typeof MESSAGES}`>, "messages">,
    init?: WriteInit,
  ): Promise<Answer<`POST ${typeof MESSAGES}`>> {
    return this.call(`POST ${MESSAGES}`, [session], init, { messages: [messages].flat() as Message[], ...where });
  }

  /** Reads the history page by page. With `maxBytes`: the newest messages that fit, in one page. */
  list(session: string, query?: History, init?: ReadInit): Pages<Message, { truncated?: boolean | undefined }> {
    return this.pages(`GET ${MESSAGES}`, [session], init, query);
  }

  /** Reads the whole history with one request, however long it is. Errors: `CONNECTION_LOST` where it breaks off. */
  stream(
    session: string,
    query?: Omit<History, "limit" | "cursor" | "maxBytes" | "minMessages">,
    init?: ReadInit,
  ): AsyncGenerator<Message> {
    const asked = { ids: [session], query, init, accept: LINES_TYPE };
    return valuesOf(this.transport.text(`GET ${MESSAGES}`, asked));
  }

  /** Reads a message. Errors: `MESSAGE_NOT_FOUND`. */
  get(session: string, message: string, query?: Query<`GET ${typeof MESSAGE}`>, init?: ReadInit): Promise<Message> {
    return this.call(`GET ${MESSAGE}`, [session, message], init, undefined, query);
  }

  /** Replaces a message, or appends it where there is none of its id. */
  put(
    session: string,
    message: Message,
    query?: Query<`PUT ${typeof MESSAGE}`>,
    init?: WriteInit,
  ): Promise<Answer<`PUT ${typeof MESSAGE}`>> {
    return this.call(`PUT ${MESSAGE}`, [session, message.id], init, message, query);
  }

  /** Deletes messages; their children are attached to their parents. Ids that are not there are passed over. */
  delete(session: string, ids: readonly string[], init?: WriteInit): Promise<Answer<`POST ${typeof MESSAGES}/delete`>> {
    return this.call(`POST ${MESSAGES}/delete`, [session], init, { ids });
  }

  /** Appends a message beside another one, as an edit does; it becomes the active leaf. */
  edit(
    session: string,
    edited: string,
    message: Message,
    init?: WriteInit,
  ): Promise<Answer<`POST ${typeof MESSAGE}/siblings`>> {
    return this.call(`POST ${MESSAGE}/siblings`, [session, edited], init, { message });
  }

  /** Removes all messages of a session. Its entry and its blocks stay. */
  clear(session: string, init?: WriteInit): Promise<undefined> {
    return this.call(`POST ${SESSION}/clear`, [session], init);
  }

  /** Reads the messages with the parent of this one, itself among them. */
  siblings(session: string, message: string, init?: ReadInit): Pages<Message> {
    return this.pages(`GET ${MESSAGE}/siblings`, [session, message], init);
  }

  /** Reads the messages below one. */
  children(session: string, message: string, init?: ReadInit): Pages<Message> {
    return this.pages(`GET ${MESSAGE}/children`, [session, message], init);
  }

  /** Reads the message that one is attached to; null for a root. */
  parent(session: string, message: string, init?: ReadInit): Promise<Answer<`GET ${typeof MESSAGE}/parent`>> {
    return this.call(`GET ${MESSAGE}/parent`, [session, message], init);
  }

  /** Lists what was remembered from a message. */
  writes(
    session: string,
    message: string,
    init?: ReadInit,
  ): Pages<Answer<`GET ${typeof MESSAGE}/writes`>["data"][number]> {
    return this.pages(`GET ${MESSAGE}/writes`, [session, message], init);
  }
}

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

const COMPACTIONS = `${SESSION}/compactions` as const;

/** The summaries of sessions. */
export class Compactions extends Resource {
  /** Lists the summaries. */
  list(session: string, init?: ReadInit): Pages<Compaction> {
    return this.pages(`GET ${COMPACTIONS}`, [session], init);
  }

  /** Lays a summary over a range of messages. Errors: `COMPACTION_INVALID_RANGE`. */
  create(session: string, compaction: Body<`POST ${typeof COMPACTIONS}`>, init?: WriteInit): Promise<Compaction> {
    return this.call(`POST ${COMPACTIONS}`, [session], init, compaction);
  }

  /** Compacts the history with the server's function; null where there was nothing to compact. */
  compact(session: string, init?: WriteInit): Promise<Answer<`POST ${typeof SESSION}/compact`>> {
    return this.call(`POST ${SESSION}/compact`, [session], init);
  }

  /** Removes a summary; the messages that it covered show again. */
  delete(session: string, compaction: string, init?: WriteInit): Promise<undefined> {
    return this.call(`DELETE ${COMPACTIONS}/{compaction}`, [session, compaction], init);
  }

  /** Reads the messages under a summary. */
  originals(session: string, compaction: string, init?: ReadInit): Pages<Message> {
    return this.pages(`GET ${COMPACTIONS}/{compaction}/originals`, [session, compaction], init);
  }
}
