import { OpenAPIHono } from "@hono/zod-openapi";
import { raceWithTimer, StemmaError } from "@stemma/model";
import { fingerprintOf, numbersDone, type Store } from "@stemma/store";
import { operationOf } from "../access/guard.js";
import { Quotas } from "../quotas/quotas.js";
import { remoteRoute } from "../remote/remote-route.js";
import { bytesOf } from "../rest/body.js";
import { DEFAULT_BODY_BYTES, registerRest } from "../rest/register-rest.js";
import { Routes } from "../rest/route.js";
import { begin, gate, OAUTH_METADATA, STUDIO, type StudioParts } from "./entrance.js";
import { Contexts, type ServerApp, type ServerEnv } from "./server-app.js";
import type { ServerContext, ServerHandler, ServerOptions } from "./server-options.js";
import { onStoreOf } from "./tenant-answers.js";

const READY_WITHIN = 1_000;

/** The routes of a server, and what stands before each of them. */
export function createApp(
  store: Store,
  given: ServerOptions,
  studio?: StudioParts,
): (request: Request) => Promise<Response> {
  const onError = (error: unknown) => given.onError?.(error, "quotas");
  const options = { ...given, quotas: given.quotas ?? new Quotas(store, { onError }) };
  const app: ServerApp = new OpenAPIHono<ServerEnv>();
  begin(app, options);
  healthRoutes(app, store, options);
  if (options.oauth !== undefined) oauthRoutes(app, options.oauth);
  const { maxBodyBytes = DEFAULT_BODY_BYTES } = options;
  const routes = new Routes(app, maxBodyBytes);
  gate(app, options, routes, studio);
  reach(app, store, options);
  remoteRoute(app, options, maxBodyBytes);
  registerRest(app, routes, options);
  if (studio !== undefined) mount(app, STUDIO, studio.studioHandler(STUDIO, options), maxBodyBytes);
  for (const [path, handler] of Object.entries(options.handlers ?? {})) mount(app, path, handler, maxBodyBytes);
  return async (request) => app.fetch(request);
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

/** Gives whoever was let in what they reach. Whoever only makes tokens comes no further. */
function reach(app: ServerApp, store: Store, options: ServerOptions): void {
  const contexts = new Contexts(options);
  app.use((c, next) => {
    const principal = c.get("principal");
    return onStoreOf(principal, store, options.tenants, c, (whole) => {
      const { store, sessions } = contexts.of(principal, whole);
      c.set("store", store);
      c.set("sessions", sessions);
      c.set("once", (key, fingerprint) => contexts.once(principal, whole, key, fingerprint));
      c.set("wasDone", async (id, call) => (await fingerprintOf(whole, operationOf(principal, id), call)) !== null);
      c.set("numbersDone", (id, ...of) => numbersDone(whole, operationOf(principal, id), ...of));
      return next();
    });
  });
}

const READS: readonly string[] = ["GET", "HEAD", "OPTIONS"];

function mount(app: ServerApp, path: string, handler: ServerHandler, maxBytes: number): void {
  // The path itself, too.
  app.all(`${path}/*`, async (c) => {
    const { principal, spend } = c.var;
    const { raw } = c.req;
    // What a handler writes is not known before.
    const writes = principal.readOnly !== true && !READS.includes(raw.method);
    if (writes) await spend({ writes: 1, bytes: bytesOf(raw, maxBytes) });
    return handler(raw, contextOf(c.var));
  });
}

function contextOf({ principal, store, sessions, requestId, isLetIn }: ServerContext): ServerContext {
  return { principal, store, sessions, requestId, isLetIn };
}
