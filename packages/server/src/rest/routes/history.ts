import { z } from "@hono/zod-openapi";
import {
  givenMessage,
  invalid,
  type JsonObject,
  messageChanged,
  noMessage,
  type SessionMessage,
  StemmaError,
} from "@stemma/model";
import { coreOf, type SessionManager } from "@stemma/session";
import type { MessageWrite, ReadOptions, StreamOptions } from "@stemma/store";
import { pageOf } from "../cursor.js";
import { expectedBy, isKnown, isOther, tagOf } from "../etag.js";
import { assertThere, type Call, json, jsonText, noContent, type Routes } from "../route.js";
import { flag, listOf, MESSAGE, PAGE, text, whole } from "../schemas.js";
import { lines, linesOf, wantsLines } from "../streams.js";

/** Messages that one request may append. */
export const MOST_MESSAGES = 1_000;
/** Characters of a page: messages may be large. */
const MOST_CHARACTERS = 8_388_608;

const PATH = "/v1/sessions/{session}";
const PARENT = text.nullable().optional().openapi({ description: "Null for a new root. Default: the active leaf." });

const HISTORY = {
  leaf: text.optional().openapi({ description: "The message that the path ends with. Default: the active leaf." }),
  order: z.enum(["asc", "desc"]).optional().openapi({ description: "`desc`: the newest first." }),
  view: z
    .enum(["model", "stored"])
    .optional()
    .openapi({ description: "`stored`: without summaries. Default: as the model sees it." }),
  createdAt: flag.openapi({ description: "`true`: each message has a `createdAt`." }),
};

const INSERTED = z.object({ inserted: z.boolean() }).openapi("Inserted");
const HISTORY_PAGE = listOf("Message", MESSAGE).extend({ truncated: z.boolean().optional() }).openapi("HistoryPage");

export function messageRoutes(routes: Routes): void {
  routes.add(
    "post",
    `${PATH}/messages`,
    {
      access: "write",
      summary: "Append messages",
      description:
        "As one chain, all of it or nothing. The ids are yours: a message whose id is stored stays as it is, so that the same request does nothing twice. With `expectedLeaf` it is refused if that is not the active leaf.",
      body: z.strictObject({
        messages: z.array(MESSAGE).min(1).max(MOST_MESSAGES),
        parent: PARENT,
        expectedLeaf: text.nullable().optional(),
      }),
      answers: { 200: z.object({ insertedIds: z.array(text) }).openapi("InsertedIds") },
    },
    async ({ sessions, ids, body: { messages, parent, expectedLeaf } }) =>
      json({ insertedIds: await sessions.getSession(ids.session).appendAll(messages, parent, { expectedLeaf }) }),
  );

  routes.add(
    "get",
    `${PATH}/messages`,
    {
      access: "read",
      summary: "Read the history",
      description:
        "Page by page, or with `Accept: application/x-ndjson` all of it, a message a line. A page of large messages holds fewer than `limit`. With `maxBytes`: the newest messages that fit, and at least `minMessages`, oldest first, in one answer.",
      query: { ...HISTORY, maxBytes: whole, minMessages: whole, ...PAGE },
      answers: { 200: HISTORY_PAGE },
    },
    async (call) => (call.query.maxBytes === undefined ? history(call) : recent(call, call.query.maxBytes)),
  );

  routes.add(
    "post",
    `${PATH}/messages/delete`,
    {
      access: "write",
      summary: "Delete messages",
      description: "Their children are attached to their parents. Ids that are not there are passed over.",
      body: z.strictObject({ ids: z.array(text).max(MOST_MESSAGES) }),
      answers: { 200: z.object({ deletedIds: z.array(text) }).openapi("DeletedIds") },
    },
    async ({ store, ids, body }) => {
      const deletedIds = await store.session(ids.session).delete(body.ids);
      if (deletedIds.length === 0) await assertThere(store, ids.session);
      return json({ deletedIds });
    },
  );

  routes.add(
    "get",
    `${PATH}/messages/{message}`,
    {
      access: "read",
      summary: "Read a message",
      query: { createdAt: HISTORY.createdAt },
      answers: { 200: MESSAGE, 304: null },
    },
    async (call) => {
      const message = await call.store.session(call.ids.session).message(call.ids.message);
      if (message === null) throw noMessage(call.ids.session, call.ids.message);
      const tag = tagOf(message);
      if (isKnown(call, tag)) return noContent(304, { etag: tag });
      if (call.query.createdAt !== "true") return json(message, 200, { etag: tag });
      const options = { createdAt: true };
      return json(await call.store.session(call.ids.session).message(call.ids.message, options), 200, { etag: tag });
    },
  );

  routes.add(
    "put",
    `${PATH}/messages/{message}`,
    {
      access: "write",
      summary: "Write a message",
      description:
        "Replaces the message, or appends it below `parent` where there is none. `If-Match` takes the tag of the message that is replaced, `If-None-Match: *` only appends.",
      query: {
        parent: text
          .optional()
          .openapi({ description: "Of a new message. Empty for a new root. Default: the active leaf." }),
      },
      body: MESSAGE,
      answers: { 200: INSERTED, 201: INSERTED },
    },
    async (call) => {
      const inserted = await put(call, messageOf(call.body, call.ids.message));
      return json({ inserted }, inserted ? 201 : 200);
    },
  );

  routes.add(
    "delete",
    `${PATH}/messages/{message}`,
    {
      access: "write",
      summary: "Delete a message",
      description: "Its children are attached to its parent.",
      answers: { 204: null },
    },
    async ({ store, ids: { session, message } }) => {
      const deleted = await store.session(session).delete([message]);
      if (deleted.length === 0) throw noMessage(session, message);
      return noContent();
    },
  );

  routes.add(
    "post",
    `${PATH}/messages/{message}/siblings`,
    {
      access: "write",
      summary: "Append a message beside another one",
      description: "As an edit of the user's does: it becomes the active leaf, and what was there stays on its branch.",
      body: z.strictObject({ message: MESSAGE }),
      answers: { 200: INSERTED },
    },
    async ({ sessions, ids: { session, message }, body }) => {
      const { inserted } = await sessions.editMessage(session, message, body.message);
      return json({ inserted });
    },
  );

  routes.add(
    "post",
    `${PATH}/clear`,
    {
      access: "write",
      summary: "Remove all messages",
      description: "Summaries and the frozen prompt go with them. The session's entry and its blocks stay.",
      answers: { 204: null },
    },
    async ({ sessions, store, ids }) => {
      await assertThere(store, ids.session);
      await sessions.clearMessages(ids.session);
      return noContent();
    },
  );
}

/** Makes a write to a session's messages, and what follows one. Resolves to the ids that were inserted, or of the leaf. */
export async function writeMessages(sessions: SessionManager, write: MessageWrite): Promise<readonly string[]> {
  const { ids, settled } = await coreOf(sessions.getSession(write.session)).together([write]);
  await settled;
  return ids[0] ?? [];
}

interface HistoryQuery {
  readonly leaf?: string | undefined;
  readonly order?: "asc" | "desc" | undefined;
  readonly view?: "model" | "stored" | undefined;
  readonly createdAt?: "true" | "false" | undefined;
  readonly minMessages?: number | undefined;
}

type HistoryCall = Call<"/v1/sessions/{session}/messages", HistoryQuery>;

function readOptions({ leaf, view, createdAt }: HistoryQuery): ReadOptions {
  return { leafId: leaf, summaries: view !== "stored", createdAt: createdAt === "true" };
}

async function history(call: HistoryCall): Promise<Response> {
  const { store, query, ids, request } = call;
  const { limit, after, next } = pageOf(call);
  const options = { ...readOptions(query), newestFirst: query.order === "desc" };
  const session = store.session(ids.session);
  const textsOf = (asked: StreamOptions) => session.lines?.(asked) ?? linesOf(session.stream(asked));
  if (wantsLines(request)) {
    await assertThere(store, ids.session);
    return lines(textsOf(options));
  }
  const data: string[] = [];
  let size = 0;
  let isMore = false;
  try {
    // One more tells whether there are more.
    for await (const text of eachLine(textsOf({ ...options, after, firstPage: limit + 1 }))) {
      isMore = data.length === limit || (data.length > 0 && size + text.length > MOST_CHARACTERS);
      if (isMore) break;
      data.push(text);
      size += text.length;
    }
  } catch (error) {
    const isCursor = StemmaError.isInstance(error, "MESSAGE_NOT_FOUND") && error.details.messageId === after;
    throw isCursor ? invalid("The message that the cursor stands at is no longer in the history: begin anew.") : error;
  }
  const last = data.at(-1);
  if (last === undefined) await assertThere(store, ids.session);
  // What is stored is JSON already, and is not made anew of what was read.
  const nextCursor = next(isMore && last !== undefined ? (JSON.parse(last) as SessionMessage).id : null);
  return jsonText(`{"data":[${data.join()}],"nextCursor":${JSON.stringify(nextCursor)}}`);
}

async function* eachLine(texts: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const text of texts) yield* text.trimEnd().split("\n");
}

async function recent({ store, query, ids }: HistoryCall, maxBytes: number): Promise<Response> {
  if (query.order === "desc") throw invalid("With maxBytes the messages come oldest first: leave order out.");
  const options = { ...readOptions(query), minMessages: query.minMessages ?? 1 };
  const { messages, truncated } = await store.session(ids.session).recent(maxBytes, options);
  if (messages.length === 0) await assertThere(store, ids.session);
  return json({ data: messages, nextCursor: null, truncated });
}

function messageOf(body: JsonObject, id: string): SessionMessage {
  if (body.id !== undefined && body.id !== id) throw invalid("The id of the message is not the one in the address.");
  return givenMessage({ ...body, id });
}

async function put(
  call: Call<"/v1/sessions/{session}/messages/{message}", { readonly parent?: string | undefined }>,
  message: SessionMessage,
): Promise<boolean> {
  const { sessions, store, query, ids } = call;
  const { session } = ids;
  const parent = query.parent === undefined ? {} : { parent: query.parent === "" ? null : query.parent };
  const expected = expectedBy(call);
  if (expected === null) return (await writeMessages(sessions, { session, upsert: message, ...parent })).length > 0;
  if (expected === "none") {
    await writeMessages(sessions, { session, append: [message], onlyNew: true, ...parent });
    return true;
  }
  const present = await store.session(session).message(message.id);
  if (present === null) throw noMessage(session, message.id);
  if (isOther(expected, tagOf(present))) throw messageChanged(session, message.id);
  await writeMessages(sessions, { session, update: message, expected: present });
  return false;
}
