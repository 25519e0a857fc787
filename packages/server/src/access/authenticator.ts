import { check, defineOptions, StemmaError } from "@stemma/model";
import type { ApiKeys } from "./api-keys.js";
import { ForeignTokens, type ForeignTokensOptions } from "./foreign-tokens.js";
import { assertPrincipal, type Principal } from "./principal.js";
import { TOKEN_ISSUER, type UserTokens } from "./user-tokens.js";

/** Who is let in: each that is given is one way in. */
export interface AuthenticatorOptions {
  readonly keys?: ApiKeys | undefined;
  readonly tokens?: UserTokens | undefined;
  /** Tokens that others sign. */
  readonly jwt?: ForeignTokensOptions | undefined;
  /** Your own: whom a request is from, null for nobody. It is asked first, with every request. */
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
