import { z } from "@hono/zod-openapi";
import type { ApiKeys } from "../../access/api-keys.js";
import { noted } from "../../access/noted.js";
import { isWhole, type Principal } from "../../access/principal.js";
import { forbidden } from "../../access/refusals.js";
import { HttpRefusal } from "../../http/problem.js";
import type { ServerOptions } from "../../http/server-options.js";
import { QUOTA_NAMES } from "../../quotas/quota.js";
import { json, type Routes } from "../route.js";
import { listOf, text, time } from "../schemas.js";

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
