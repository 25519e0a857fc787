import { OpenAPIHono } from "@hono/zod-openapi";
import { raceWithTimer, StemmaError } from "@stemma/model";
import type { Store } from "@stemma/store";
import { cors } from "hono/cors";
import { matchedRoutes } from "hono/route";
import { DEFAULT_BODY_BYTES, registerRest } from "../rest/register-rest.js";
import { Routes } from "../rest/route.js";
import { tokenRoutes } from "../rest/routes/access.js";
import { Contexts } from "./contexts.js";
import { HttpRefusal, problemResponse, statusOf } from "./problem.js";
import type { ServerApp, ServerEnv } from "./server-app.js";
import type { RequestRecord, ServerContext, ServerHandler, ServerOptions } from "./server-options.js";
import { signedIn, studioHandler, studioSignIn } from "./studio.js";

const READY_WITHIN = 1_000;
const OAUTH_METADATA = "/.well-known/oauth-protected-resource";
const STUDIO = "/studio";
const CORS = {
  exposeHeaders: ["x-request-id", "etag", "retry-after"],
  allowHeaders: ["authorization", "content-type", "idempotency-key", "if-match", "if-none-match", "x-request-id"],
  maxAge: 600,
};

/** The routes of a server, and what stands before each of them. */
export function createApp(store: Store, options: ServerOptions): (request: Request) => Promise<Response> {
  const app: ServerApp = new OpenAPIHono<ServerEnv>();
  noteRequests(app, options);
  refuse(app, options);
  healthRoutes(app, store, options);
  if (options.oauth !== undefined) oauthRoutes(app, options.oauth);
  const routes = new Routes(app, options.maxBodyBytes ?? DEFAULT_BODY_BYTES);
  gate(app, store, options, routes);
  registerRest(app, routes, options);
  if (options.studio) mount(app, STUDIO, studioHandler(STUDIO, options));
  for (const [path, handler] of Object.entries(options.handlers ?? {})) mount(app, path, handler);
  return async (request) => app.fetch(request);
}

/** Names each request, and tells of it when its answer begins. */
function noteRequests(app: ServerApp, options: ServerOptions): void {
  app.use(async (c, next) => {
    const began = performance.now();
    const given = c.req.header("x-request-id") ?? "";
    const requestId = /^[\w.:-]{1,128}$/.test(given) ? given : crypto.randomUUID();
    c.set("requestId", requestId);
    await next();
    c.header("x-request-id", requestId);
    const { failure, principal } = c.var;
    tell(options, {
      id: requestId,
      method: c.req.method,
      route: matchedRoutes(c).findLast(({ path }) => path !== "/*")?.path ?? null,
      status: c.res.status,
      ms: Math.round(performance.now() - began),
      principal: principal?.id ?? null,
      code: failure === undefined ? null : codeOf(failure),
    });
  });
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

function healthRoutes(app: ServerApp, store: Store, { isReady }: ServerOptions): void {
  app.get("/healthz", (c) => c.text("ok"));
  app.get("/readyz", async (c) => {
    if (isReady?.() === false) throw new StemmaError("STORE_CLOSED", {}, "The server is about to end.");
    const late = () => new StemmaError("CONNECTION_LOST", {}, "The database did not answer in time.");
    await raceWithTimer(store.sessions.get(""), READY_WITHIN, late);
    return c.text("ok");
  });
}

/** Tells OAuth clients who gives tokens. */
function oauthRoutes(app: ServerApp, { resource, authorizationServers }: NonNullable<ServerOptions["oauth"]>): void {
  const metadata = { resource, authorization_servers: authorizationServers, bearer_methods_supported: ["header"] };
  app.get(OAUTH_METADATA, (c) => c.json(metadata));
  app.get(`${OAUTH_METADATA}/*`, (c) => c.json(metadata));
}

/** Lets in who may come, and gives what they reach. All that is added behind it stands behind it. */
function gate(app: ServerApp, store: Store, options: ServerOptions, routes: Routes): void {
  const contexts = new Contexts(store, options);
  const { origins = [], hosts, studio = false, authenticate, limits } = options;
  if (origins.length > 0) app.use(cors({ origin: [...origins], ...CORS }));
  app.use(async (c, next) => {
    assertOwnHost(c.req.raw, hosts);
    await next();
  });
  if (studio) studioSignIn(app, authenticate, STUDIO);
  app.use(async (c, next) => {
    const principal = await authenticate(studio ? signedIn(c.req.raw, STUDIO) : c.req.raw);
    c.set("principal", principal);
    // A limit counts before it is known what a request costs.
    limits?.count(principal);
    await next();
  });
  tokenRoutes(routes, options);
  // Whoever only makes tokens comes no further.
  app.use(async (c, next) => {
    const { store, sessions } = contexts.of(c.var.principal);
    c.set("store", store);
    c.set("sessions", sessions);
    c.set("once", (key, fingerprint) => contexts.once(c.var.principal, key, fingerprint));
    await next();
  });
}

function mount(app: ServerApp, path: string, handler: ServerHandler): void {
  // The path itself, too.
  app.all(`${path}/*`, (c) => handler(c.req.raw, contextOf(c.var)) as Promise<Response>);
}

function contextOf({ principal, store, sessions, requestId }: ServerContext): ServerContext {
  return { principal, store, sessions, requestId };
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
