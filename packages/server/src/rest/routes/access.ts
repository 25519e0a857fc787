import { z } from "@hono/zod-openapi";
import { invalid } from "@stemma/model";
import type { ApiKeyInfo, ApiKeys, NewApiKey } from "../../access/api-keys.js";
import { noted } from "../../access/audit-log.js";
import { isTenantName, isWhole, type Principal } from "../../access/principal.js";
import { forbidden } from "../../access/refusals.js";
import type { NewUserToken } from "../../access/user-tokens.js";
import { HttpRefusal } from "../../http/problem.js";
import type { ServerOptions } from "../../http/server-options.js";
import { QUOTA_NAMES } from "../../quotas/quota.js";
import { json, noContent, type Routes } from "../route.js";
import { listOf, text, time } from "../schemas.js";

const SECOND = 1_000;
/** Seconds. */
const LONGEST_TTL = 3_600;

const REACH = { tenant: text, project: text, keys: z.array(text), readOnly: z.boolean() };
const ACCESS = z.enum(["memory", "admin", "mint"]);

/** As a key has it. */
const QUOTA = z
  .strictObject(Object.fromEntries(QUOTA_NAMES.map((name) => [name, z.int().min(1)] as const)))
  .partial()
  .openapi("Quota");

const TOKEN = z.object({ token: text, expiresAt: time }).openapi("Token");

const KEY_FIELDS = { id: text, name: text, access: ACCESS, createdAt: time };
const API_KEY = z
  .object({ ...KEY_FIELDS, ...z.object({ ...REACH, userId: text, expiresAt: time, quota: QUOTA }).partial().shape })
  .openapi("ApiKey");
const MADE_KEY = API_KEY.extend({ key: text }).openapi("MadeApiKey");

/** Tokens of users. A principal of the access `mint` comes here, and no further. */
export function tokenRoutes(routes: Routes, { tokens, audit }: ServerOptions): void {
  if (tokens === undefined) return;
  routes.add(
    "post",
    "/v1/tokens",
    {
      access: "write",
      isDoneOnce: false,
      summary: "Make a token for a page of a user",
      description:
        "For keys of the access `mint` or `admin`. What the key itself is confined to may be left out. `ttl` is in seconds: ten minutes unless it is given, an hour at most.",
      body: z.strictObject({ userId: text, ...REACH, ttl: z.number().min(1).max(LONGEST_TTL) }).partial(),
      answers: { 201: TOKEN },
    },
    async ({ principal, body }) => {
      const { id, tenant, userId: own } = principal;
      const userId = own ?? body.userId;
      const call = { principal: id, call: "tokens.create", mode: "write", userId, ...(tenant && { tenant }) } as const;
      const { token, expiresAt } = await noted(audit, call, async () => tokens.create(tokenOf(principal, body)));
      return json({ token, expiresAt: new Date(expiresAt).toISOString() }, 201);
    },
  );
}

// Whoever reaches a part makes tokens of this part, which use up the same quota.
function tokenOf(
  { id, access, tenant, userId, project, keys, quota, countedAs = id }: Principal,
  { ttl, ...asked }: Partial<Record<keyof NewUserToken, unknown>> & { readonly ttl?: number | undefined },
): NewUserToken {
  if (!(access === "mint" || access === "admin")) throw forbidden("This key makes no tokens.");
  const own = Object.entries({ tenant, userId, project, keys }).filter(([, value]) => value !== undefined);
  for (const [name, value] of own) {
    const given = asked[name as keyof typeof asked];
    if (given !== undefined && JSON.stringify(given) !== JSON.stringify(value)) {
      throw forbidden(`The ${name} of a token of this key is the key's own.`);
    }
  }
  const counted = quota === undefined ? {} : { quota, countedAs };
  const lasts = ttl === undefined ? {} : { lasts: ttl * SECOND };
  return { ...(asked as unknown as NewUserToken), ...Object.fromEntries(own), ...lasts, ...counted };
}

/** The API keys, for administrators. */
export function keyRoutes(routes: Routes, { keys, audit }: ServerOptions): void {
  if (keys === undefined) return;
  // A tenant's administrator sees and makes keys of that tenant alone.
  const byAdmin = async <T>(
    principal: Principal,
    call: string,
    asked: string | undefined,
    work: (keys: ApiKeys, of: { readonly tenant?: string }) => Promise<T>,
  ): Promise<T> => {
    const { id, tenant = asked } = principal;
    const of = tenant === undefined ? {} : { tenant };
    const about = { principal: id, call, mode: "admin", ...(isTenantName(tenant) && { tenant }) } as const;
    return noted(audit, about, async () => {
      if (principal.access !== "admin" || !isWhole(principal)) throw forbidden("Keys are for administrators.");
      if (asked !== undefined && asked !== tenant) throw forbidden("This key is of another tenant.");
      return work(keys, of);
    });
  };

  routes.add(
    "get",
    "/v1/keys",
    {
      access: "read",
      summary: "List the API keys",
      description:
        "Without their secrets, which nobody keeps; of one `tenant` where it is given. For administrators; a tenant's sees those of the tenant.",
      query: { tenant: text.optional() },
      answers: { 200: listOf("ApiKey", API_KEY) },
    },
    async ({ principal, query }) => {
      const found = await byAdmin(principal, "keys.list", query.tenant, (all, of) => all.list(of));
      return json({ data: found.map(shown), nextCursor: null });
    },
  );

  routes.add(
    "post",
    "/v1/keys",
    {
      access: "write",
      isDoneOnce: false,
      summary: "Make an API key",
      description:
        "It is shown this once. A request that is sent again makes another one. For administrators; the keys that a tenant's makes are of the tenant.",
      body: z.strictObject({
        name: text,
        access: ACCESS.optional().openapi({ description: "Default: `memory`." }),
        ...z.object({ ...REACH, userId: text, expiresAt: time, quota: QUOTA }).partial().shape,
      }),
      answers: { 201: MADE_KEY },
    },
    async ({ principal, body: { access = "memory", tenant, expiresAt, ...fields } }) => {
      const { id, quota, countedAs = id } = principal;
      // Else whoever makes keys would have as many quotas.
      if (quota !== undefined && fields.quota !== undefined)
        throw forbidden("The keys that this key makes use up its own quota.");
      const asked = {
        ...fields,
        access,
        ...(expiresAt !== undefined && { expiresAt: timeOf(expiresAt) }),
        ...(quota !== undefined && { quota, countedAs }),
      } as NewApiKey;
      const { key, info } = await byAdmin(principal, "keys.create", tenant, (all, of) =>
        all.create({ ...asked, ...of }),
      );
      return json({ ...shown(info), key }, 201);
    },
  );

  routes.add(
    "delete",
    "/v1/keys/{apiKey}",
    {
      access: "write",
      isDoneOnce: false,
      summary: "Revoke an API key",
      description: "At once in the process that answers, within 30 seconds in all others. For administrators.",
      answers: { 204: null },
    },
    async ({ principal, ids }) => {
      const isRevoked = await byAdmin(principal, "keys.revoke", undefined, (all, of) => all.revoke(ids.apiKey, of));
      if (!isRevoked) throw new HttpRefusal("NOT_FOUND", "There is no key of this id.");
      return noContent();
    },
  );
}

function shown({ expiresAt, countedAs: _, ...info }: ApiKeyInfo) {
  return expiresAt === undefined ? info : { ...info, expiresAt: new Date(expiresAt).toISOString() };
}

function timeOf(text: string): number {
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw invalid("expiresAt is a time, such as 2027-01-31T00:00:00Z.");
  return time;
}
