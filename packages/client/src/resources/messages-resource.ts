import type { Message } from "../api.js";
import type { ReadInit, WriteInit } from "../client-options.js";
import { valuesOf } from "../lines.js";
import type { Pages } from "../pages.js";
import { LINES_TYPE } from "../request.js";
import { type Answer, type Body, type Query, Resource, SESSION } from "./resource.js";

const ALL = `${SESSION}/messages` as const;
const ONE = `${ALL}/{message}` as const;
type History = Query<`GET ${typeof ALL}`>;

/** The messages of sessions. */
export class Messages extends Resource {
  /** Appends messages as one chain, all or nothing. An id that is stored stays as it is. Errors: `LEAF_MOVED`, `PARENT_NOT_FOUND`. */
  append(
    session: string,
    messages: readonly Message[] | Message,
    where?: Omit<Body<`POST ${typeof ALL}`>, "messages">,
    init?: WriteInit,
  ): Promise<Answer<`POST ${typeof ALL}`>> {
    return this.call(`POST ${ALL}`, [session], init, { messages: [messages].flat() as Message[], ...where });
  }

  /** Reads the history page by page. With `maxBytes`: the newest messages that fit, in one page. */
  list(session: string, query?: History, init?: ReadInit): Pages<Message, { truncated?: boolean | undefined }> {
    return this.pages(`GET ${ALL}`, [session], init, query);
  }

  /** Reads the whole history with one request, however long it is. Errors: `CONNECTION_LOST` where it breaks off. */
  stream(
    session: string,
    query?: Omit<History, "limit" | "cursor" | "maxBytes" | "minMessages">,
    init?: ReadInit,
  ): AsyncGenerator<Message> {
    const asked = { ids: [session], query, init, accept: LINES_TYPE };
    return valuesOf(this.transport.text(`GET ${ALL}`, asked));
  }

  /** Reads a message. Errors: `MESSAGE_NOT_FOUND`. */
  get(session: string, message: string, query?: Query<`GET ${typeof ONE}`>, init?: ReadInit): Promise<Message> {
    return this.call(`GET ${ONE}`, [session, message], init, undefined, query);
  }

  /** Replaces a message, or appends it where there is none of its id. */
  put(
    session: string,
    message: Message,
    query?: Query<`PUT ${typeof ONE}`>,
    init?: WriteInit,
  ): Promise<Answer<`PUT ${typeof ONE}`>> {
    return this.call(`PUT ${ONE}`, [session, message.id], init, message, query);
  }

  /** Deletes messages; their children are attached to their parents. Ids that are not there are passed over. */
  delete(session: string, ids: readonly string[], init?: WriteInit): Promise<Answer<`POST ${typeof ALL}/delete`>> {
    return this.call(`POST ${ALL}/delete`, [session], init, { ids });
  }

  /** Appends a message beside another one, as an edit does; it becomes the active leaf. */
  edit(
    session: string,
    edited: string,
    message: Message,
    init?: WriteInit,
  ): Promise<Answer<`POST ${typeof ONE}/siblings`>> {
    return this.call(`POST ${ONE}/siblings`, [session, edited], init, { message });
  }

  /** Removes all messages of a session. Its entry and its blocks stay. */
  clear(session: string, init?: WriteInit): Promise<undefined> {
    return this.call(`POST ${SESSION}/clear`, [session], init);
  }

  /** Reads the messages with the parent of this one, itself among them. */
  siblings(session: string, message: string, init?: ReadInit): Pages<Message> {
    return this.pages(`GET ${ONE}/siblings`, [session, message], init);
  }

  /** Reads the messages below one. */
  children(session: string, message: string, init?: ReadInit): Pages<Message> {
    return this.pages(`GET ${ONE}/children`, [session, message], init);
  }

  /** Reads the message that one is attached to; null for a root. */
  parent(session: string, message: string, init?: ReadInit): Promise<Answer<`GET ${typeof ONE}/parent`>> {
    return this.call(`GET ${ONE}/parent`, [session, message], init);
  }

  /** Lists what was remembered from a message. */
  writes(session: string, message: string, init?: ReadInit): Pages<Answer<`GET ${typeof ONE}/writes`>["data"][number]> {
    return this.pages(`GET ${ONE}/writes`, [session, message], init);
  }
}
