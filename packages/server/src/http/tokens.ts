import { invalid, readJsonObject } from "@stemma/model";
import { forbidden } from "../access/refusals.js";
import type { NewUserToken, UserTokens } from "../access/user-tokens.js";
import type { ServerApp } from "./server-app.js";

const BODY = { maxBytes: 16_384, advice: "It names a user, and what the token reaches." };
const SECOND = 1_000;

/** `POST /v1/tokens` with `{ userId, project?, keys?, readOnly?, ttl? }`, `ttl` in seconds: resolves to `{ token, expiresAt }`. */
export function tokenRoute(app: ServerApp, tokens: UserTokens): void {
  app.post("/v1/tokens", async (c) => {
    const { access, readOnly } = c.var.principal;
    if (!(access === "mint" || access === "admin") || readOnly === true) throw forbidden("This key makes no tokens.");
    const { ttl, ...asked } = await readJsonObject(c.req.raw, BODY);
    if (ttl !== undefined && typeof ttl !== "number") throw invalid("ttl is in seconds.");
    const lasts = ttl === undefined ? {} : { lasts: ttl * SECOND };
    const { token, expiresAt } = await tokens.create({ ...(asked as unknown as NewUserToken), ...lasts });
    return c.json({ token, expiresAt: new Date(expiresAt).toISOString() }, 201);
  });
}
