import { type Context, Hono } from "hono";
import { deleteCookie, setCookie } from "hono/cookie";
import { parse } from "hono/utils/cookie";

const COOKIE = "user";
const YEAR = 365 * 24 * 3600;
const MAX_NAME = 60;

/** Who sends a request; null for a stranger. */
export function userOf(request: Request): string | null {
  return parse(request.headers.get("cookie") ?? "", COOKIE)[COOKIE] || null;
}

/** A name without a password: enough to show that users are apart, and no more. Put your own sign-in here. */
export function signInRoutes(): Hono {
  return new Hono()
    .post("/sign-in", async (context) => {
      const { name } = await context.req.json<{ name?: unknown }>();
      if (typeof name !== "string" || name.trim() === "" || name.length > MAX_NAME) return context.body(null, 400);
      setCookie(context, COOKIE, name.trim(), { httpOnly: true, sameSite: "Lax", path: "/", maxAge: YEAR });
      return context.body(null, 204);
    })
    .post("/sign-out", (context: Context) => {
      deleteCookie(context, COOKIE, { path: "/" });
      return context.body(null, 204);
    });
}
