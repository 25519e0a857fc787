import { z } from "@hono/zod-openapi";
import { StemmaError } from "@stemma/model";
import type { SessionListOptions } from "@stemma/session";
import type { SessionInfo, Store } from "@stemma/store";
import { forbidden, notThere } from "../../access/refusals.js";
import { type Page, pageOf } from "../cursor.js";
import { expectedBy, isKnown, isOther } from "../etag.js";
import { memoryOf, storeOfUser } from "../owner.js";
import { assertThere, type Call, json, noContent, type Routes } from "../route.js";
import { ERASED, listOf, object, PAGE, PAGE_BODY, RECEIPT, SESSION, text } from "../schemas.js";

const FILTERS = {
  order: z.enum(["change", "tokens", "cost", "messages", "registered"]).optional(),
  prefix: text.optional().openapi({ description: "Only ids that begin with this." }),
  name: text.optional().openapi({ description: "Only names that hold this text." }),
  userId: text.optional(),
};

export function sessionRoutes(routes: Routes): void {
  const PATH = "/v1/sessions/{session}";

  routes.add(
    "post",
    "/v1/sessions",
    {
      access: "write",
      summary: "Register a session",
      description: "An id that is registered stays as it is: 200 then, else 201.",
      body: z.strictObject({
        name: text,
        id: text.optional(),
        metadata: object.optional(),
        model: text.optional(),
        source: text.optional(),
        parentSessionId: text.optional(),
        userId: text.optional().openapi({ description: "Whose it is. Default: the user of the key or token." }),
      }),
      answers: { 200: SESSION, 201: SESSION },
    },
    async ({ body: { name, ...options }, store, sessions }) => {
      assertUser(store, options.userId);
      const { id } = options;
      const known = id === undefined ? null : await store.sessions.get(id);
      const info = await sessions.create(name, withoutUndefined(options));
      return json(shown(info), known === null ? 201 : 200);
    },
  );

  routes.add(
    "get",
    "/v1/sessions",
    {
      access: "read",
      summary: "List sessions",
      query: { ...FILTERS, ...PAGE },
      answers: { 200: listOf("Session", SESSION) },
    },
    async (call) => {
      const { order, prefix, name, userId } = call.query;
      return list(call, { orderBy: order, idPrefix: prefix, nameContains: name, userId });
    },
  );

  routes.add(
    "post",
    "/v1/sessions/query",
    {
      access: "read",
      summary: "List sessions by their metadata",
      description: "As the list, and with `metadata`: fields with just these values, null for one that is not there.",
      body: z.strictObject({ ...FILTERS, metadata: object.optional(), ...PAGE_BODY }),
      answers: { 200: listOf("Session", SESSION) },
    },
    async (call) => {
      const { order, prefix, name, userId, metadata } = call.body;
      const fields = metadata as SessionListOptions["metadata"];
      return list(call, { orderBy: order, idPrefix: prefix, nameContains: name, userId, metadata: fields });
    },
  );

  routes.add(
    "get",
    PATH,
    {
      access: "read",
      summary: "Read a session's entry",
      description: "Its tag is another one after each write to the session.",
      answers: { 200: SESSION, 304: null },
    },
    async (call) => {
      const { store, ids } = call;
      const [info, tag] = await Promise.all([store.sessions.get(ids.session), changeTag(store, ids.session)]);
      if (info === null) throw notThere(ids.session);
      return isKnown(call, tag) ? noContent(304, { etag: tag }) : json(shown(info), 200, { etag: tag });
    },
  );

  routes.add(
    "patch",
    PATH,
    {
      access: "write",
      summary: "Change a session's name or metadata",
      description:
        "Of the metadata, each field replaces the present one; null removes it. With `expectedName`, a session of another name stays as it is.",
      body: z.strictObject({ name: text.optional(), expectedName: text.optional(), metadata: object.optional() }),
      answers: { 200: SESSION },
    },
    async (call) => {
      const { sessions, store, ids, body } = call;
      await assertUnchanged(call);
      const { expectedName, ...change } = body;
      // A name that is no text, or no name, is refused as `update` does.
      if (expectedName === undefined) return json(shown(await sessions.update(ids.session, change)));
      return json(shown(await store.sessions.update(ids.session, { ...change, expectedName })));
    },
  );

  routes.add(
    "delete",
    PATH,
    {
      access: "write",
      summary: "Erase a session",
      description: "With everything that is kept for it. `If-Match` is looked at before, not in the same transaction.",
      answers: { 200: RECEIPT },
    },
    async (call) => {
      if (!(await call.isAgain?.())) await assertThere(call.store, call.ids.session);
      await assertUnchanged(call);
      return json(await call.sessions.delete(call.ids.session));
    },
  );

  routes.add(
    "post",
    `${PATH}/fork`,
    {
      access: "write",
      summary: "Copy the path to a message into a new session",
      body: z.strictObject({ messageId: text, name: text, id: text.optional() }),
      answers: { 201: SESSION },
    },
    async ({ sessions, ids, body: { messageId, name, id } }) =>
      json(shown(await sessions.fork(ids.session, messageId, name, id === undefined ? {} : { id })), 201),
  );

  routes.add(
    "post",
    `${PATH}/split`,
    {
      access: "write",
      summary: "End a session, and go on in a new one that begins with a summary",
      body: z.strictObject({ summary: text, name: text.optional() }),
      answers: { 201: SESSION },
    },
    async ({ sessions, ids, body: { summary, name } }) =>
      json(shown(await sessions.compactAndSplit(ids.session, summary, name)), 201),
  );
}

async function list(call: Call, options: SessionListOptions): Promise<Response> {
  const page: Page = pageOf(call);
  assertUser(call.store, options.userId);
  const { limit, after: cursor } = page;
  const { sessions, nextCursor } = await call.sessions.listPage({ ...options, limit, cursor });
  return json({ data: sessions.map(shown), nextCursor: page.next(nextCursor) });
}

/** Errors: `FORBIDDEN` for another user than the one that the key is of. */
function assertUser({ userId }: Store, asked: string | undefined): void {
  if (asked !== undefined && userId !== undefined && asked !== userId) {
    throw forbidden("This key is one user's, and reaches no other's sessions.");
  }
}

async function changeTag(store: Store, sessionId: string): Promise<string> {
  return `"${encodeURIComponent(await store.session(sessionId).change())}"`;
}

async function assertUnchanged(call: Call<`/v1/sessions/{session}`>): Promise<void> {
  const expected = expectedBy(call);
  if (expected === null || !isOther(expected, await changeTag(call.store, call.ids.session))) return;
  const message = "The session changed since its tag was read. Read it again.";
  throw new StemmaError("SESSION_CONFLICT", { sessionId: call.ids.session }, message);
}

/** A session's entry with names as all else has them here. */
function shown(info: SessionInfo) {
  return {
    id: info.id,
    name: info.name,
    parentSessionId: info.parent_session_id,
    model: info.model,
    source: info.source,
    userId: info.user_id,
    metadata: info.metadata,
    inputTokens: info.input_tokens,
    outputTokens: info.output_tokens,
    estimatedCost: info.estimated_cost,
    endReason: info.end_reason,
    createdAt: info.created_at,
    updatedAt: info.updated_at,
  };
}

type Given<T> = { [Field in keyof T]: Exclude<T[Field], undefined> };

function withoutUndefined<T extends object>(fields: T): Given<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Given<T>;
}

export function erasureRoutes(routes: Routes): void {
  routes.add(
    "delete",
    "/v1/memory/{owner}",
    {
      access: "write",
      summary: "Erase a memory",
      description: "All blocks and entries of the owner, with their versions.",
      answers: { 200: ERASED },
    },
    async (call) => {
      const { store, scope } = memoryOf(call.store, call.ids.owner);
      return json(await store.deleteMemory(scope));
    },
  );

  routes.add(
    "delete",
    "/v1/users/{user}",
    {
      access: "write",
      summary: "Erase a user",
      description: "All sessions, blocks and entries that are kept for the user, with their versions.",
      answers: { 200: RECEIPT },
    },
    async ({ sessions, store, ids: { user } }) => {
      storeOfUser(store, user);
      return json(await sessions.eraseUser(user));
    },
  );
}
