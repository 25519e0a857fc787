import { check, defineOptions } from "@stemma/model";
import type { SessionManager } from "@stemma/session";
import type { Store } from "@stemma/store";
import type { ApiKeys } from "../access/api-keys.js";
import type { AuditLog } from "../access/audit-log.js";
import type { Principal } from "../access/principal.js";
import type { RateLimits } from "../access/rate-limits.js";
import type { UserTokens } from "../access/user-tokens.js";
import type { Quotas } from "../quotas/quotas.js";
import type { Tenants } from "../tenants/tenants.js";

/** Whom a request is from, and what of the store they reach. */
export interface ServerContext {
  readonly principal: Principal;
  /** The store behind a guard. */
  readonly store: Store;
  /** A manager of that store, as the option `sessions` has made it. */
  readonly sessions: SessionManager;
  /** Names the request in the log. */
  readonly requestId: string;
  /** False once its key or token is no longer valid: an answer that goes on for long asks now and then, and ends. What was found out counts for ten seconds. */
  isLetIn(): Promise<boolean>;
}

/** Answers the requests to one path and below it. */
export type ServerHandler = (request: Request, context: ServerContext) => Promise<Response> | Response;

/** One request, as a log has it: no text, no id of a session. */
export interface RequestRecord {
  readonly id: string;
  readonly method: string;
  /** The pattern, such as `/v1/sessions/:session`; null where nothing is. */
  readonly route: string | null;
  readonly status: number;
  /** Milliseconds until the answer began. */
  readonly ms: number;
  /** The principal's id; null where nobody was let in. */
  readonly principal: string | null;
  /** The principal's tenant; null where it has none. */
  readonly tenant: string | null;
  /** The code of a refusal or a failure. */
  readonly code: string | null;
}

export interface ServerOptions {
  /**
   * Says whom a request is from, as `authenticator` does. It throws `NOT_ALLOWED` for nobody. While a stream is open it is asked again, every ten
   * seconds and with the same `Request`, and the stream ends when it says anything else.
   */
  readonly authenticate: (request: Request) => Promise<Principal> | Principal;
  /**
   * The stores of the tenants. Each principal reaches the one of its tenant then, and the server's own store holds keys, secrets and
   * the audit log; a principal of no tenant makes keys and tokens, if it may, and reaches no store. Default: the server's store is
   * what all reach, but for principals of a tenant, who reach nothing.
   */
  readonly tenants?: Tenants | undefined;
  /** Makes tokens for users, at `POST /v1/tokens`, for keys with the access `mint` or `admin`. Default: none. */
  readonly tokens?: UserTokens | undefined;
  /** The API keys that administrators list, make and revoke at `/v1/keys`. Default: none. */
  readonly keys?: ApiKeys | undefined;
  /** Counts the requests of each principal. Default: no limit. */
  readonly limits?: RateLimits | undefined;
  /** Holds principals to their quotas. Default: `new Quotas(store)`, so that those hold which keys have themselves. */
  readonly quotas?: Quotas | undefined;
  /** Notes who wrote and who was refused. Default: nothing. */
  readonly audit?: AuditLog | undefined;
  /** Gives a manager its blocks, its compaction and what it learns with. Default: it has none. */
  readonly sessions?: ((sessions: SessionManager) => SessionManager) | undefined;
  /** Serves the studio at `/studio`; it lets in who signs in with a key. Default false. */
  readonly studio?: boolean | undefined;
  /** Handlers of your own, by their paths, behind the same keys: `{ "/mcp": handler }`. */
  readonly handlers?: Readonly<Record<string, ServerHandler>> | undefined;
  /**
   * For OAuth clients, at `/.well-known/oauth-protected-resource`: the address of the MCP server, and who gives tokens for it.
   * Default: nothing is there.
   */
  readonly oauth?: { readonly resource: string; readonly authorizationServers: readonly string[] } | undefined;
  /** Origins whose pages may send requests, as `https://app.example.com`. Default: none but the server's own. */
  readonly origins?: readonly string[] | undefined;
  /** The hosts that a request may name, as `localhost:4985`. Default: any. */
  readonly hosts?: readonly string[] | undefined;
  /** The largest body of a request in bytes. Default 16 MiB. */
  readonly maxBodyBytes?: number | undefined;
  /** False while no request is to come, as before the process ends: `/readyz` then answers 503. Default: always true. */
  readonly isReady?: (() => boolean) | undefined;
  /** Hears of each request when its answer begins. */
  readonly onRequest?: ((record: RequestRecord) => void) | undefined;
  /** Gets what is a fault of the server or of the database, with the id of its request. */
  readonly onError?: ((error: unknown, requestId: string) => void) | undefined;
}

const isObject = check.rule("an object", (value) => typeof value === "object" && value !== null);

export const SERVER = defineOptions<ServerOptions>({
  authenticate: check.required(check.callable),
  tenants: check.having("hold"),
  tokens: check.having("create"),
  keys: check.having("revoke"),
  limits: check.having("count", "states"),
  quotas: check.having("count", "states", "usage"),
  audit: check.having("note"),
  sessions: check.callable,
  studio: check.flag,
  handlers: isObject,
  oauth: isObject,
  origins: check.texts("origins"),
  hosts: check.texts("hosts"),
  maxBodyBytes: check.whole(1),
  isReady: check.callable,
  onRequest: check.callable,
  onError: check.callable,
});
