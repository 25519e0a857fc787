import { z } from "@hono/zod-openapi";
import type { ApiKeys } from "../../access/api-keys.js";
import { noted } from "../../access/audit-log.js";
import { isWhole, type Principal } from "../../access/principal.js";
import { forbidden } from "../../access/refusals.js";
import { HttpRefusal } from "../../http/problem.js";
import type { ServerOptions } from "../../http/server-options.js";
import { QUOTA_NAMES } from "../../quotas/quota.js";
import { assertThere, json, noContent, type Routes } from "../route.js";
import { COUNTED, listOf, text, time } from "../schemas.js";

const USAGE_PATH = "/v1/sessions/{session}/usage";
const USAGE = COUNTED.extend({ day: text, model: text, requests: z.int() }).openapi("Usage");
const USAGE_SUM = COUNTED.extend({ name: text, requests: z.int() }).openapi("UsageSum");

export function usageRoutes(routes: Routes): void {
  routes.add(
    "get",
    USAGE_PATH,
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
    USAGE_PATH,
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

const QUOTA_USE = z
  .object({
    quota: z.enum(QUOTA_NAMES),
    of: z.literal("tenant").optional().openapi({ description: "Where all keys of the tenant use it up together." }),
    limit: z.int(),
    used: z.int(),
    resetsAt: time,
  })
  .openapi("QuotaUse");

/** Tells how far a quota is used up. */
export function quotaRoute(routes: Routes, { quotas, keys, audit }: ServerOptions): void {
  if (quotas === undefined) return;
  routes.add(
    "get",
    "/v1/quota",
    {
      access: "read",
      summary: "Read how far a quota is used up",
      description:
        "A row for each limit that there is: of the key or token that asks, or of another key, and of its tenant.",
      query: { key: text.optional().openapi({ description: "The id of another key, for administrators." }) },
      answers: { 200: listOf("QuotaUse", QUOTA_USE) },
    },
    async ({ principal, query: { key } }) => {
      if (key === undefined) return json({ data: await quotas.usage(principal), nextCursor: null });
      const { id, tenant } = principal;
      const call = {
        principal: id,
        call: "keys.quota",
        mode: "admin",
        ...(tenant !== undefined && { tenant }),
      } as const;
      const data = await noted(audit, call, async () => quotas.usage(await keyOf(principal, key, keys)));
      return json({ data, nextCursor: null });
    },
  );
}

async function keyOf({ access, ...reach }: Principal, id: string, keys: ApiKeys | undefined): Promise<Principal> {
  if (access !== "admin" || !isWhole({ access, ...reach }))
    throw forbidden("The quota of another key is for administrators.");
  const found = (await keys?.get(id, { tenant: reach.tenant })) ?? null;
  if (found === null) throw new HttpRefusal("NOT_FOUND", "There is no key of this id.");
  return found;
}
