import { invalid, readJsonObject } from "@stemma/model";
import { forbidden } from "../access/refusals.js";
import type { NewUserToken, UserTokens } from "../access/user-tokens.js";
import type { ServerApp } from "./server-app.js";

const BODY = { maxBytes: 16_384, advice: "It names a user, and what the token reaches." };
const SECOND = 1_000;

/** `POST /v1/tokens` with `{ userId, project?, keys?, readOnly?, ttl? }`, `ttl` in seconds: resolves to `{ token, expiresAt }`. */
export function tokenRoute(app: ServerApp, tokens: UserTokens): void {
  app.post("/v1/tokens", async (c) => {
    const { access, userId, project, keys, readOnly } = c.var.principal;
    if (!(access === "mint" || access === "admin") || readOnly === true) throw forbidden("This key makes no tokens.");
    const { ttl, ...asked } = await readJsonObject(c.req.raw, BODY);
    if (ttl !== undefined && typeof ttl !== "number") throw invalid("ttl is in seconds.");
    // Whoever reaches a part makes tokens of this part.
    const own = Object.entries({ userId, project, keys }).filter(([, value]) => value !== undefined);
    for (const [name, value] of own) {
      if (asked[name] !== undefined && JSON.stringify(asked[name]) !== JSON.stringify(value)) {
        throw forbidden(`The ${name} of a token of this key is the key's own.`);
      }
    }
    const lasts = ttl === undefined ? {} : { lasts: ttl * SECOND };
    const { token, expiresAt } = await tokens.create({
      ...(asked as unknown as NewUserToken),
      ...Object.fromEntries(own),
      ...lasts,
    });
    return c.json({ token, expiresAt: new Date(expiresAt).toISOString() }, 201);
  });
}
