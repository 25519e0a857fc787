import { z } from "@hono/zod-openapi";
import { assertThere, json, noContent, type Routes } from "../route.js";
import { COMPACTION, listOf, MESSAGE, text } from "../schemas.js";

const PATH = "/v1/sessions/{session}";

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
