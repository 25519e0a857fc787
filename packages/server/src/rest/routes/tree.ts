import { z } from "@hono/zod-openapi";
import { noMessage } from "@stemma/model";
import type { SessionStore, TreeNode } from "@stemma/store";
import { pageOf } from "../cursor.js";
import { ownerName } from "../owner.js";
import { assertThere, json, noContent, type Routes } from "../route.js";
import { COMPACTION, listOf, MESSAGE, NODE, PAGE, text, VERSION } from "../schemas.js";
import { lines, linesOf, wantsLines } from "../streams.js";
import { writeMessages } from "./history.js";

const PATH = "/v1/sessions/{session}";
const MESSAGE_PATH = `${PATH}/messages/{message}` as const;
const LEAF = z.object({ messageId: text.nullable() }).openapi("Leaf");
const WRITE = VERSION.extend({ owner: text, label: text, key: text.nullable() }).openapi("MemoryWrite");
const NAMED = z.strictObject({ messageId: text });

export function treeRoutes(routes: Routes): void {
  routes.add(
    "get",
    `${PATH}/tree`,
    {
      access: "read",
      summary: "Read where each message stands",
      description: "The newest first. With `Accept: application/x-ndjson` all of it, a line for each.",
      query: PAGE,
      answers: { 200: listOf("TreeNode", NODE) },
    },
    async (call) => {
      const session = call.store.session(call.ids.session);
      const { limit, after, next } = pageOf(call);
      const page = await session.treePage({ after, limit });
      if (page.nodes.length === 0) await assertThere(call.store, call.ids.session);
      if (wantsLines(call.request)) return lines(linesOf(allNodes(session)));
      return json({ data: page.nodes, nextCursor: next(page.next) });
    },
  );

  for (const [name, summary] of [
    ["siblings", "Read the messages with the same parent"],
    ["children", "Read the messages below one"],
  ] as const) {
    routes.add(
      "get",
      `${MESSAGE_PATH}/${name}`,
      { access: "read", summary, answers: { 200: listOf("Message", MESSAGE) } },
      async ({ store, ids: { session, message } }) => {
        const of = store.session(session);
        const data = await (name === "siblings" ? of.siblings(message) : of.branches(message));
        return json({ data, nextCursor: null });
      },
    );
  }

  routes.add(
    "get",
    `${MESSAGE_PATH}/parent`,
    {
      access: "read",
      summary: "Read the message that one is attached to",
      answers: { 200: z.object({ parent: z.union([MESSAGE, z.null()]) }).openapi("Parent") },
    },
    async ({ store, ids: { session, message } }) => json({ parent: await store.session(session).parent(message) }),
  );

  routes.add(
    "get",
    `${MESSAGE_PATH}/writes`,
    {
      access: "read",
      summary: "List what was remembered from a message",
      answers: { 200: listOf("MemoryWrite", WRITE) },
    },
    async ({ store, ids }) => {
      const session = store.session(ids.session);
      const writes = await session.writes(ids.message);
      if (writes.length === 0 && (await session.message(ids.message)) === null)
        throw noMessage(ids.session, ids.message);
      return json({ data: writes.map((write) => ({ ...write, owner: ownerName(write.owner) })), nextCursor: null });
    },
  );

  routes.add(
    "get",
    `${PATH}/leaf`,
    { access: "read", summary: "Read which message is the active leaf", answers: { 200: LEAF } },
    async ({ store, ids }) => {
      const leaf = await store.session(ids.session).leaf();
      if (leaf === null) await assertThere(store, ids.session);
      return json({ messageId: leaf?.id ?? null });
    },
  );

  routes.add(
    "put",
    `${PATH}/leaf`,
    {
      access: "write",
      summary: "Make a message the active leaf",
      description: "Null: what is appended next is a new root. With `expectedLeaf` only where that is the active leaf.",
      body: z.strictObject({ messageId: text.nullable(), expectedLeaf: text.nullable().optional() }),
      answers: { 200: LEAF },
    },
    async ({ sessions, store, ids: { session }, body: { messageId, expectedLeaf } }) => {
      if (messageId === null) await assertThere(store, session);
      await writeMessages(sessions, { session, activeLeaf: messageId, expectedLeaf });
      return json({ messageId });
    },
  );

  routes.add(
    "post",
    `${PATH}/select`,
    {
      access: "write",
      summary: "Make the branch of a message the active one",
      description: "Its newest leaf becomes active.",
      body: NAMED,
      answers: { 200: LEAF },
    },
    async ({ sessions, ids, body }) =>
      json({ messageId: (await sessions.selectBranch(ids.session, body.messageId)).id }),
  );

  routes.add(
    "post",
    `${PATH}/rewind`,
    {
      access: "write",
      summary: "Go back to a message",
      description: "The session's own blocks and entries become what they were when it was stored.",
      body: NAMED,
      answers: { 204: null },
    },
    async ({ sessions, ids, body }) => {
      await sessions.getSession(ids.session).setActiveLeaf(body.messageId, { context: "as-of" });
      return noContent();
    },
  );
}

async function* allNodes(session: SessionStore): AsyncGenerator<TreeNode> {
  for (let after: string | undefined, isMore = true; isMore; ) {
    const { nodes, next } = await session.treePage({ after, limit: 200 });
    yield* nodes;
    isMore = next !== null;
    after = next ?? undefined;
  }
}

const COMPACTED = z
  .object({
    compaction: z.object({ fromMessageId: text, toMessageId: text, summary: text }).openapi("NewCompaction").nullable(),
  })
  .openapi("Compacted");

export function compactionRoutes(routes: Routes): void {
  routes.add(
    "get",
    `${PATH}/compactions`,
    { access: "read", summary: "List the summaries", answers: { 200: listOf("Compaction", COMPACTION) } },
    async ({ store, ids }) => {
      const data = await store.session(ids.session).compactions();
      if (data.length === 0) await assertThere(store, ids.session);
      return json({ data, nextCursor: null });
    },
  );

  routes.add(
    "post",
    `${PATH}/compactions`,
    {
      access: "write",
      summary: "Lay a summary over a range of messages",
      body: z.strictObject({ summary: text, fromMessageId: text, toMessageId: text }),
      answers: { 201: COMPACTION },
    },
    async ({ sessions, store, ids, body: { summary, fromMessageId, toMessageId } }) => {
      await assertThere(store, ids.session);
      return json(await sessions.addCompaction(ids.session, summary, fromMessageId, toMessageId), 201);
    },
  );

  routes.add(
    "post",
    `${PATH}/compact`,
    {
      access: "write",
      summary: "Compact the history",
      description: "With the function that the server was given. Null where there was nothing to compact.",
      answers: {
        200: COMPACTED,
      },
    },
    async ({ sessions, store, ids }) => {
      await assertThere(store, ids.session);
      return json({ compaction: await sessions.getSession(ids.session).compact() });
    },
  );

  routes.add(
    "delete",
    `${PATH}/compactions/{compaction}`,
    {
      access: "write",
      summary: "Remove a summary",
      description: "The messages that it covered show again.",
      answers: { 204: null },
    },
    async ({ sessions, ids }) => {
      await sessions.removeCompaction(ids.session, ids.compaction);
      return noContent();
    },
  );

  routes.add(
    "get",
    `${PATH}/compactions/{compaction}/originals`,
    { access: "read", summary: "Read the messages under a summary", answers: { 200: listOf("Message", MESSAGE) } },
    async ({ sessions, ids }) => {
      const data = await sessions.getSession(ids.session).expandCompaction(ids.compaction);
      return json({ data, nextCursor: null });
    },
  );
}
