import { check, defineOptions, once, StemmaError } from "@stemma/model";
import { assertQuota, type Quota } from "../quotas/quota.js";
import type { ApiKeys } from "./api-keys.js";
import { assertPrincipal, isTenantName, type Principal, userPrincipalId } from "./principal.js";
import { TOKEN_ISSUER, type UserTokens } from "./user-tokens.js";

/** Who is let in: each that is given is one way in. */
export interface AuthenticatorOptions {
  readonly keys?: ApiKeys | undefined;
  readonly tokens?: UserTokens | undefined;
  /** Tokens that others sign. */
  readonly jwt?: ForeignTokensOptions | undefined;
  /** Your own: whom a request is from, null for nobody. It is asked first, with every request, and again while a stream is open. */
  readonly authenticate?: ((request: Request) => Promise<Principal | null> | Principal | null) | undefined;
}

const AUTHENTICATOR = defineOptions<AuthenticatorOptions>({
  keys: check.having("verify"),
  tokens: check.having("verify"),
  jwt: () => undefined,
  authenticate: check.callable,
});

/** A token is longer than a key, and no header is longer than this. */
const MOST_CHARACTERS = 8_192;

/**
 * Makes a function that tells whom a request is from, by `Authorization: Bearer` with an API key or a token. Its errors:
 * `NOT_ALLOWED`, `CONNECTION_LOST` when another's keys cannot be read. Errors: `INVALID_ARGUMENT`.
 */
export function authenticator(options: AuthenticatorOptions): (request: Request) => Promise<Principal> {
  AUTHENTICATOR.assert(options, "authenticator()");
  const { keys, tokens, jwt, authenticate } = options;
  const foreign = jwt === undefined ? undefined : new ForeignTokens(jwt);
  const principalOf = async (bearer: string): Promise<Principal | null> => {
    if (bearer.startsWith("stm_")) return (await keys?.verify(bearer)) ?? null;
    if (tokens === undefined && foreign === undefined) return null;
    const issuer = await issuerOf(bearer);
    if (issuer === TOKEN_ISSUER) return (await tokens?.verify(bearer)) ?? null;
    return issuer !== undefined && issuer === foreign?.issuer ? foreign.verify(bearer) : null;
  };
  return async (request) => {
    const own = (await authenticate?.(request)) ?? null;
    if (own !== null) {
      assertPrincipal(own);
      return own;
    }
    const bearer = bearerOf(request.headers.get("authorization"));
    const principal = bearer === null ? null : await principalOf(bearer);
    if (principal !== null) return principal;
    const message = "Send a key or a token that is valid: Authorization: Bearer ….";
    throw new StemmaError("NOT_ALLOWED", {}, message);
  };
}

// Headers that came twice are joined by a comma, which no key or token has.
function bearerOf(authorization: string | null): string | null {
  if (authorization === null || authorization.length > MOST_CHARACTERS) return null;
  return /^bearer +([\w.~+/=-]+)$/i.exec(authorization)?.[1] ?? null;
}

// Only to choose who checks it.
async function issuerOf(token: string): Promise<string | undefined> {
  const { decodeJwt } = await import("jose");
  try {
    const { iss } = decodeJwt(token);
    return iss;
  } catch {
    return undefined;
  }
}

/** Tokens that somebody else signs: Auth0, Clerk, Keycloak, your own service. */
export interface ForeignTokensOptions {
  /** Where its public keys are, as a JWKS. */
  readonly jwks: string | URL;
  /** The `iss` that a token must have. */
  readonly issuer: string;
  /** The `aud` that a token must have, or one of several: what names this server there. */
  readonly audience: string | readonly string[];
  /** The claim that is the user's id. Default: "sub". */
  readonly userClaim?: string | undefined;
  /** The claim that is the tenant. A token without a name of a tenant there is refused then. Default: the tokens are of no tenant. */
  readonly tenantClaim?: string | undefined;
  /** The algorithms that are allowed. Default: RS256, PS256, ES256 and EdDSA. None with a shared secret can be. */
  readonly algorithms?: readonly string[] | undefined;
  /** The quota of each user. Default: that of the server. */
  readonly quota?: Quota | undefined;
}

const ASYMMETRIC = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
];
const USUAL = ["RS256", "PS256", "ES256", "EdDSA"];
/** Between two fetches of the keys, also for a token that names an unknown one. */
const COOLDOWN = 30_000;
/** Seconds by which clocks may differ. */
const TOLERANCE = 30;

const FOREIGN_TOKENS = defineOptions<ForeignTokensOptions>({
  jwks: check.required(check.rule("an address with https:, or of this machine", isSafe)),
  issuer: check.required(check.text),
  audience: check.required(
    check.rule("a text, or texts", (value) => {
      const all = [value].flat();
      return all.length > 0 && all.every((each) => typeof each === "string" && each !== "");
    }),
  ),
  userClaim: check.text,
  tenantClaim: check.text,
  algorithms: check.rule("algorithms with a public key", (value) => value.every((each) => ASYMMETRIC.includes(each))),
  quota: assertQuota,
});

/** Checks tokens of an issuer against its public keys. Errors: `INVALID_ARGUMENT`; of `verify`, see there. */
class ForeignTokens {
  readonly issuer: string;
  readonly #keys = once(async () => {
    const { createRemoteJWKSet } = await import("jose");
    return createRemoteJWKSet(new URL(this.options.jwks), { cooldownDuration: COOLDOWN, timeoutDuration: 5_000 });
  });

  constructor(private readonly options: ForeignTokensOptions) {
    FOREIGN_TOKENS.assert(options, "the jwt of an authenticator");
    this.issuer = options.issuer;
  }

  /**
   * Whom a token stands for; null for one that is forged, expired, or for another server. Errors: `CONNECTION_LOST` when the keys
   * cannot be read.
   */
  async verify(token: string): Promise<Principal | null> {
    const { errors, jwtVerify } = await import("jose");
    const { issuer, audience, userClaim = "sub", tenantClaim, algorithms = USUAL, quota } = this.options;
    try {
      const { payload } = await jwtVerify(token, await this.#keys(), {
        issuer,
        audience: [audience].flat(),
        algorithms: [...algorithms],
        clockTolerance: TOLERANCE,
        requiredClaims: ["exp", userClaim],
      });
      const userId = payload[userClaim];
      if (typeof userId !== "string" || userId === "") return null;
      const of = { access: "memory", userId, ...(quota !== undefined && { quota }) } as const;
      if (tenantClaim === undefined) return { id: userPrincipalId(userId, undefined), ...of };
      const tenant = payload[tenantClaim];
      return isTenantName(tenant) ? { id: userPrincipalId(userId, tenant), ...of, tenant } : null;
    } catch (error) {
      if (isRefusal(error, errors)) return null;
      throw new StemmaError("CONNECTION_LOST", { issuer }, "The keys of the issuer cannot be read.", { cause: error });
    }
  }
}

// What says something of the token, and not of the way to the keys.
function isRefusal(error: unknown, { JWKSTimeout, JWKSInvalid, JOSEError }: typeof import("jose").errors): boolean {
  if (error instanceof JWKSTimeout || error instanceof JWKSInvalid) return false;
  // What every failed answer of the issuer's is.
  if (error instanceof JOSEError) return error.code !== "ERR_JOSE_GENERIC";
  return false;
}

function isSafe(jwks: string | URL): boolean {
  if (!URL.canParse(String(jwks))) return false;
  const { protocol, hostname } = new URL(jwks);
  return protocol === "https:" || (protocol === "http:" && /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname));
}
