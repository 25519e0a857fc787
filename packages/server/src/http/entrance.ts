import { StemmaError } from "@stemma/model";
import type { Context } from "hono";
import { cors } from "hono/cors";
import { matchedRoutes } from "hono/route";
import { limitHeaders } from "../quotas/quota.js";
import type { Routes } from "../rest/route.js";
import { tokenRoutes } from "../rest/routes/access.js";
import { letIn, whileLetIn } from "./let-in.js";
import { HttpRefusal, problemResponse, statusOf } from "./problem.js";
import type { ServerApp, ServerEnv } from "./server-app.js";
import type { RequestRecord, ServerOptions } from "./server-options.js";
import { setAnswer } from "./tenant-answers.js";

/** Where OAuth clients read who gives tokens. */
export const OAUTH_METADATA = "/.well-known/oauth-protected-resource";
/** Where the studio is, if it is served. */
export const STUDIO = "/studio";

const CORS = {
  exposeHeaders: ["x-request-id", "etag", "retry-after", "ratelimit", "ratelimit-policy"],
  allowHeaders: ["authorization", "content-type", "idempotency-key", "if-match", "if-none-match", "x-request-id"],
  maxAge: 600,
};

/** The studio's part of a server, which is not loaded where there is none. */
export type StudioParts = typeof import("./studio.js");

/** Names each request and tells of it, and answers what fails. To be called before any route is added. */
export function begin(app: ServerApp, options: ServerOptions): void {
  noteRequests(app, options);
  refuse(app, options);
}

/** Lets in who may come. All that is added behind it stands behind it. */
export function gate(app: ServerApp, options: ServerOptions, routes: Routes, studio?: StudioParts): void {
  const { origins = [], hosts, authenticate, limits, quotas } = options;
  if (origins.length > 0) app.use(cors({ origin: [...origins], ...CORS }));
  app.use(async (c, next) => {
    assertOwnHost(c.req.raw, hosts);
    await next();
  });
  studio?.studioSignIn(app, authenticate, STUDIO);
  app.use(async (c, next) => {
    const request = studio?.signedIn(c.req.raw, STUDIO) ?? c.req.raw;
    const principal = await authenticate(request);
    c.set("principal", principal);
    c.set("isLetIn", letIn(principal, request, authenticate));
    c.set("spend", async (cost, isAgain) => {
      if (quotas?.states(principal).length && !(await isAgain?.())) await quotas.count(principal, cost);
    });
    // A limit counts before it is known what a request costs.
    limits?.count(principal);
    await quotas?.count(principal);
    await next();
  });
  // A handler of the user's own asks itself.
  for (const path of ["/v1/*", `${STUDIO}/*`]) {
    app.use(path, async (c, next) => {
      await next();
      // Of an answer to HEAD nobody reads the body, so that nothing would end it.
      if (c.req.raw.method !== "HEAD") setAnswer(c, whileLetIn(c.res, c.var.isLetIn));
    });
  }
  tokenRoutes(routes, options);
}

/** Names each request, and tells of it when its answer begins. */
function noteRequests(app: ServerApp, options: ServerOptions): void {
  app.use(async (c, next) => {
    const began = performance.now();
    const given = c.req.header("x-request-id") ?? "";
    const requestId = /^[\w.:-]{1,128}$/.test(given) ? given : crypto.randomUUID();
    c.set("requestId", requestId);
    await next();
    setHeader(c, "x-request-id", requestId);
    const [failure, principal] = [c.get("failure"), c.get("principal")];
    if (principal !== undefined) {
      const states = [...(options.limits?.states(principal) ?? []), ...(options.quotas?.states(principal) ?? [])];
      for (const [name, value] of limitHeaders(states)) setHeader(c, name, value);
    }
    tell(options, {
      id: requestId,
      method: c.req.method,
      route: matchedRoutes(c).findLast(({ path }) => path !== "/*")?.path ?? null,
      status: c.res.status,
      ms: Math.round(performance.now() - began),
      principal: principal?.id ?? null,
      tenant: principal?.tenant ?? null,
      code: failure === undefined ? null : codeOf(failure),
    });
  });
}

// hono's own way makes a new response around the body, which is then sent as a stream.
function setHeader(c: Context<ServerEnv>, name: string, value: string): void {
  try {
    c.res.headers.set(name, value);
  } catch {
    // A response that a handler got by `fetch` cannot be changed.
    c.header(name, value);
  }
}

/** Answers what fails, and what is nowhere. */
function refuse(app: ServerApp, options: ServerOptions): void {
  app.onError((error, c) => {
    const { requestId } = c.var;
    c.set("failure", error);
    if (statusOf(error, false) === 500) options.onError?.(error, requestId);
    const response = problemResponse(error, c.req.raw, requestId);
    if (response.status === 401) response.headers.set("www-authenticate", challenge(c.req.raw, options));
    return response;
  });
  app.notFound((c) => {
    const refused = new HttpRefusal("NOT_FOUND", "There is nothing at this address.");
    c.set("failure", refused);
    return problemResponse(refused, c.req.raw, c.var.requestId);
  });
}

function codeOf(failure: unknown): string {
  return failure instanceof HttpRefusal || StemmaError.isInstance(failure) ? failure.code : "INTERNAL";
}

// A name that leads to this machine for a moment (DNS rebinding) is refused. Who sends a key or a token is no page of another's.
function assertOwnHost(request: Request, hosts: readonly string[] | undefined): void {
  if (hosts === undefined) return;
  const url = new URL(request.url);
  const named = [url.host, request.headers.get("host") ?? url.host];
  if (named.every((host) => hosts.includes(host.toLowerCase()))) return;
  throw new HttpRefusal("FOREIGN_HOST", "This host is not known here.");
}

function challenge(request: Request, { oauth }: ServerOptions): string {
  if (oauth === undefined) return "Bearer";
  const { origin, pathname } = new URL(oauth.resource);
  const isResource = new URL(request.url).pathname === pathname;
  return isResource
    ? `Bearer resource_metadata="${origin}${OAUTH_METADATA}${pathname === "/" ? "" : pathname}"`
    : "Bearer";
}

function tell({ onRequest }: ServerOptions, record: RequestRecord): void {
  try {
    onRequest?.(record);
  } catch {
    // The request is answered, whatever becomes of its line.
  }
}
