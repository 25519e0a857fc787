import { z } from "@hono/zod-openapi";
import { assertThere, json, noContent, type Routes } from "../route.js";
import { COUNTED, listOf, text } from "../schemas.js";

const PATH = "/v1/sessions/{session}/usage";
const USAGE = COUNTED.extend({ day: text, model: text, requests: z.int() }).openapi("Usage");
const USAGE_SUM = COUNTED.extend({ name: text, requests: z.int() }).openapi("UsageSum");

export function usageRoutes(routes: Routes): void {
  routes.add(
    "get",
    PATH,
    {
      access: "read",
      summary: "Read a session's usage by day and model",
      answers: { 200: listOf("Usage", USAGE) },
    },
    async ({ store, ids }) => {
      const data = await store.sessions.usageRows(ids.session);
      if (data.length === 0) await assertThere(store, ids.session);
      return json({ data, nextCursor: null });
    },
  );

  routes.add(
    "post",
    PATH,
    {
      access: "write",
      summary: "Count a request to a model",
      body: z.strictObject({
        inputTokens: z.int(),
        outputTokens: z.int(),
        cost: z.number().optional(),
        model: text.optional(),
      }),
      answers: { 204: null },
    },
    async ({ sessions, ids, body: { inputTokens, outputTokens, cost, model } }) => {
      await sessions.addUsage(ids.session, inputTokens, outputTokens, cost, model);
      return noContent();
    },
  );

  routes.add(
    "get",
    "/v1/usage",
    {
      access: "read",
      summary: "Sum usage up",
      description: "By `day`, the newest first; by `model` or `session`, by cost.",
      query: {
        by: z.enum(["day", "model", "session"]),
        from: text.optional().openapi({ description: "The first day, as `2026-11-22`." }),
        to: text.optional().openapi({ description: "The last day." }),
        userId: text.optional(),
        limit: z.coerce.number().pipe(z.int().min(1).max(1_000)).optional().openapi({ type: "integer" }),
      },
      answers: { 200: listOf("UsageSum", USAGE_SUM) },
    },
    async ({ sessions, query }) => json({ data: await sessions.getUsage(query), nextCursor: null }),
  );
}
