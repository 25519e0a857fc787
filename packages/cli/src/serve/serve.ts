import { setTimeout as sleep } from "node:timers/promises";
import { StemmaError } from "@stemma/model";
import {
  ApiKeys,
  AuditLog,
  assertZod,
  authenticator,
  createServer,
  type Principal,
  Quotas,
  RateLimits,
  type ServerHandler,
  type Tenants,
  UserTokens,
} from "@stemma/server";
import type { SessionManager } from "@stemma/session";
import type { Store } from "@stemma/store";
import {
  addressOf,
  assertToken,
  type DrainingServer,
  isBearer,
  isLoopback,
  listen,
  localHosts,
  randomToken,
} from "../http/listen.js";
import { languageModel } from "../summarizer.js";
import { type ConfigParts, createChats } from "./config-file.js";
import type { ServerLog } from "./log.js";
import { createMcp } from "./mcp-handler.js";
import { Metrics } from "./metrics.js";
import type { Settings } from "./settings.js";

const MIB = 1024 * 1024;
const SECOND = 1_000;

export interface ServedStore {
  readonly url: string;
  /** A key that this process alone knows, where the store has none yet. */
  readonly key: string | null;
  /** Lets what runs end, and takes nothing new. */
  drain(): Promise<void>;
}

/** Without keys nothing listens where others than this machine come. */
export class NoKeysError extends Error {}

/** Serves a store, or those of tenants, whose keys it holds then. Errors: `NoKeysError`, `INVALID_ARGUMENT`, `MODEL_UNAVAILABLE`, `DRIVER_MISSING`, and what the database refuses. */
export async function serve(
  store: Store,
  settings: Settings,
  parts: ConfigParts,
  log: ServerLog,
  tenants?: Tenants,
): Promise<ServedStore> {
  const { host, origins, studio, rateLimit, quota, tenantQuota, auditDays, maxBodyMb } = settings;
  await assertZod();
  await store.migrate();
  const keys = new ApiKeys(store);
  const adminKey = settings.adminKey ?? (await keyWhereNoneIs(keys, settings, parts));
  assertToken(adminKey);
  const tellFault = (error: unknown) => log.fault(error, null);
  const audit = auditDays === 0 ? undefined : new AuditLog(store, { days: auditDays, onError: tellFault });
  const quotas = new Quotas(store, { quota, tenantQuota, onError: tellFault });
  const metrics = new Metrics();
  const mcp = settings.mcp ? createMcp(tellFault) : undefined;
  const model = settings.model === undefined ? undefined : await languageModel(settings.model, settings.modelBaseUrl);

  const chat = parts.chat ?? (model === undefined ? undefined : { model });
  const maxBodyBytes = maxBodyMb * MIB;

  let isReady = true;
  let answer = async (_request: Request): Promise<Response> => new Response(null, { status: 503 });
  const server: DrainingServer = await listen(async (request) => {
    metrics.begin();
    try {
      return await answer(request);
    } finally {
      metrics.end();
    }
  }, settings);
  const url = settings.publicUrl ?? addressOf(host, server.port);
  const tokens = new UserTokens(store, { audience: url });
  answer = createServer(store, {
    authenticate: authenticator({
      keys,
      tokens,
      jwt: jwtOf(settings, url),
      authenticate: ownPrincipal(parts, adminKey),
    }),
    tenants,
    tokens,
    keys,
    limits: new RateLimits({ perMinute: rateLimit }),
    quotas,
    audit,
    sessions: parts.sessions ?? withMemory,
    studio,
    handlers: {
      ...(mcp !== undefined && { "/mcp": mcp.handler }),
      ...(chat !== undefined && { "/api/chat": createChats({ origins, maxBodyBytes, ...chat }, log.fault.bind(log)) }),
      "/metrics": metricsHandler(metrics),
      ...parts.handlers,
    },
    oauth: oauthOf(settings, url),
    origins,
    // Of another machine nobody knows by which names it is reached; there only the key counts.
    hosts: isLoopback(host) && settings.publicUrl === undefined ? localHosts(server.port) : undefined,
    maxBodyBytes,
    isReady: () => isReady,
    onRequest: (record) => {
      metrics.count(record);
      log.request(record);
    },
    onError: (error, requestId) => log.fault(error, requestId),
  });
  return {
    url,
    key: settings.adminKey === undefined ? (adminKey ?? null) : null,
    drain: async () => {
      isReady = false;
      server.leave();
      await sleep(settings.drainDelay * SECOND);
      const drained = server.drain(settings.drainTimeout * SECOND);
      // Their streams would stay open for ever.
      await mcp?.close();
      await drained;
      await audit?.flush();
      await quotas.flush();
    },
  };
}

async function keyWhereNoneIs(keys: ApiKeys, settings: Settings, parts: ConfigParts): Promise<string | undefined> {
  const { host, jwtJwks } = settings;
  if (jwtJwks !== undefined || parts.authenticate !== undefined || (await keys.list()).length > 0) return undefined;
  if (isLoopback(host)) return randomToken();
  throw new NoKeysError(
    `With --host ${host} others can reach the server, and there are no keys yet: make one with \`stemma key create\`, or set STEMMA_ADMIN_KEY.`,
  );
}

function ownPrincipal({ authenticate }: ConfigParts, adminKey: string | undefined) {
  return async (request: Request): Promise<Principal | null> => {
    if (adminKey !== undefined && isBearer(request.headers.get("authorization"), adminKey)) {
      return { id: "admin", access: "admin" };
    }
    return ((await authenticate?.(request)) ?? null) as Principal | null;
  };
}

function jwtOf({ jwtJwks, jwtIssuer, jwtAudience, jwtUserClaim, jwtTenantClaim }: Settings, url: string) {
  if (jwtJwks === undefined && jwtIssuer === undefined) return undefined;
  if (jwtJwks === undefined || jwtIssuer === undefined) {
    throw new StemmaError("INVALID_ARGUMENT", {}, "Tokens of others need both --jwt-jwks and --jwt-issuer.");
  }
  return {
    jwks: jwtJwks,
    issuer: jwtIssuer,
    audience: jwtAudience === undefined ? [url, `${url}/mcp`] : [jwtAudience],
    userClaim: jwtUserClaim,
    tenantClaim: jwtTenantClaim,
  };
}

function oauthOf({ mcp, jwtIssuer }: Settings, url: string) {
  return mcp && jwtIssuer !== undefined ? { resource: `${url}/mcp`, authorizationServers: [jwtIssuer] } : undefined;
}

function metricsHandler(metrics: Metrics): ServerHandler {
  return (_request, { principal }) => {
    if (principal.access !== "admin" || principal.tenant !== undefined)
      throw new StemmaError("FORBIDDEN", {}, "Metrics are for administrators.");
    return new Response(metrics.text(), { headers: { "content-type": "text/plain; version=0.0.4" } });
  };
}

/** Where no module says so, a chat remembers what its user tells. */
function withMemory(sessions: SessionManager): SessionManager {
  return sessions
    .withContext("memory", { description: "What is known of the user", maxTokens: 2_000, scope: "user" })
    .withCachedPrompt();
}
