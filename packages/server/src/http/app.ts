import { OpenAPIHono } from "@hono/zod-openapi";
import { raceWithTimer, StemmaError } from "@stemma/model";
import type { Store } from "@stemma/store";
import { cors } from "hono/cors";
import { matchedRoutes } from "hono/route";
import { registerRest } from "../rest/register-rest.js";
import { createChat } from "./chat.js";
import { Contexts } from "./contexts.js";
import type { RequestRecord, ServerContext, ServerHandler, ServerOptions } from "./options.js";
import { HttpRefusal, problemResponse, statusOf } from "./problem.js";
import type { ServerApp, ServerEnv } from "./server-app.js";
import { signedIn, studioHandler, studioSignIn } from "./studio.js";
import { tokenRoute } from "./tokens.js";

const READY_WITHIN = 1_000;
const OAUTH_METADATA = "/.well-known/oauth-protected-resource";
const STUDIO = "/studio";

/** The routes of a server, and what stands before each of them. */
export function createApp(store: Store, options: ServerOptions): (request: Request) => Promise<Response> {
  const app: ServerApp = new OpenAPIHono<ServerEnv>();
  const contexts = new Contexts(store, options);
  const { oauth, origins = [], hosts } = options;

  app.use(async (c, next) => {
    const began = performance.now();
    const given = c.req.header("x-request-id") ?? "";
    const requestId = /^[\w.:-]{1,128}$/.test(given) ? given : crypto.randomUUID();
    c.set("requestId", requestId);
    await next();
    c.header("x-request-id", requestId);
    const { failure, principal } = c.var;
    const status = c.res.status;
    const route = matchedRoutes(c).findLast(({ path }) => path !== "/*")?.path ?? null;
    const code = failure === undefined ? null : codeOf(failure);
    tell(options, {
      id: requestId,
      method: c.req.method,
      route,
      status,
      ms: Math.round(performance.now() - began),
      principal: principal?.id ?? null,
      code,
    });
  });
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

  app.get("/healthz", (c) => c.text("ok"));
  app.get("/readyz", async (c) => {
    if (options.isReady?.() === false) throw new StemmaError("STORE_CLOSED", {}, "The server is about to end.");
    const late = () => new StemmaError("CONNECTION_LOST", {}, "The database did not answer in time.");
    await raceWithTimer(store.sessions.get(""), READY_WITHIN, late);
    return c.text("ok");
  });
  if (oauth !== undefined) {
    const metadata = {
      resource: oauth.resource,
      authorization_servers: oauth.authorizationServers,
      bearer_methods_supported: ["header"],
    };
    app.get(OAUTH_METADATA, (c) => c.json(metadata));
    app.get(`${OAUTH_METADATA}/*`, (c) => c.json(metadata));
  }

  if (origins.length > 0) {
    app.use(
      cors({
        origin: [...origins],
        exposeHeaders: ["x-request-id", "etag", "retry-after"],
        allowHeaders: ["authorization", "content-type", "idempotency-key", "if-match", "if-none-match", "x-request-id"],
        maxAge: 600,
      }),
    );
  }
  app.use(async (c, next) => {
    assertOwnHost(c.req.raw, hosts);
    await next();
  });
  if (options.studio) studioSignIn(app, options.authenticate, STUDIO);

  app.use(async (c, next) => {
    const request = options.studio ? signedIn(c.req.raw, STUDIO) : c.req.raw;
    const principal = await options.authenticate(request);
    // A limit counts before it is known what a request costs.
    c.set("principal", principal);
    options.limits?.count(principal);
    await next();
  });
  if (options.tokens !== undefined) tokenRoute(app, options.tokens);
  // Whoever only makes tokens comes no further.
  app.use(async (c, next) => {
    const { store, sessions } = contexts.of(c.var.principal);
    c.set("store", store);
    c.set("sessions", sessions);
    await next();
  });

  registerRest(app, options);

  const mount = (path: string, handler: ServerHandler) => {
    const answer = (request: Request, context: ServerContext) => handler(request, context);
    // The path itself, too.
    app.all(`${path}/*`, (c) => answer(c.req.raw, contextOf(c.var)));
  };
  if (options.studio) mount(STUDIO, studioHandler(STUDIO, options));
  if (options.chat !== undefined) mount("/api/chat", createChat(options.chat, options));
  for (const [path, handler] of Object.entries(options.handlers ?? {})) mount(path, handler);

  return async (request) => app.fetch(request);
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
