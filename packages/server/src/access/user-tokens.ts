import { check, defineOptions, invalid, once, StemmaError } from "@stemma/model";
import { assertStore, assertUserId, type RecordScope, type Store } from "@stemma/store";
import { ACCESS, type Access, accessOf, assertGiven, type Principal, userPrincipalId } from "./principal.js";
import { randomText } from "./secrets.js";

/** Whom a token is for, and how long it is one. */
export interface NewUserToken extends Omit<Access, "access" | "userId"> {
  readonly userId: string;
  /** Milliseconds until it expires, at most an hour. Default: ten minutes. */
  readonly lasts?: number | undefined;
  /** The id under which its quota is used up, such as that of the key that asks for it. Default: the user's. */
  readonly countedAs?: string | undefined;
}

interface UserTokensOptions {
  /** The address of the server that takes the tokens. */
  readonly audience: string;
}

const USER_TOKENS = defineOptions<UserTokensOptions>({ audience: check.required(check.text) });

const SECRETS: RecordScope = { sessionId: "", label: "stemma:tokens" };
export const TOKEN_ISSUER = "stemma";
const SECOND = 1_000;
const HOUR = 3_600_000;
const TEN_MINUTES = 600_000;

const NEW_USER_TOKEN = defineOptions<NewUserToken>({
  userId: check.required(assertUserId),
  tenant: ACCESS.checks.tenant,
  project: ACCESS.checks.project,
  keys: ACCESS.checks.keys,
  readOnly: ACCESS.checks.readOnly,
  quota: ACCESS.checks.quota,
  countedAs: check.text,
  lasts: check.rule(
    "from a second to an hour, in milliseconds",
    (lasts) => typeof lasts === "number" && lasts >= SECOND && lasts <= HOUR,
  ),
});

/** The key of the secret that signs. */
const FIRST = "1";

/** Of a secret of your own. HS256 asks for as many bytes. */
const LEAST_CHARACTERS = 32;

/**
 * Short-lived tokens for browsers: a JWT for one user, signed with a secret that the store holds, or with yours, of at least 32
 * characters. Your server makes one for a user who is signed in, and the page sends it. `audience` is the address of the server that
 * takes them. Errors: `INVALID_ARGUMENT`, `STORE_UNSUPPORTED`.
 * @example
 * import { UserTokens } from "stemma/server";
 *
 * const tokens = new UserTokens(store, { audience: "https://memory.example.com" });
 * const { token } = await tokens.create({ userId: "ada" });
 */
export class UserTokens {
  readonly #secret = once(() => this.#read());

  constructor(
    private readonly source: Store | string,
    private readonly options: UserTokensOptions,
  ) {
    if (typeof source !== "string") assertStore(source, "UserTokens");
    else if (source.length < LEAST_CHARACTERS)
      throw invalid(`The secret of tokens must have at least ${LEAST_CHARACTERS} characters.`);
    USER_TOKENS.assert(options, "UserTokens");
  }

  /** Makes a token. `expiresAt` is in milliseconds since 1970. Errors: `INVALID_ARGUMENT`. */
  async create({
    userId,
    lasts = TEN_MINUTES,
    countedAs,
    ...access
  }: NewUserToken): Promise<{ token: string; expiresAt: number }> {
    NEW_USER_TOKEN.assert({ userId, lasts, countedAs, ...access }, "a token");
    assertGiven(access, "a token");
    const { SignJWT } = await import("jose");
    const expiresAt = Date.now() + lasts;
    const { access: _, ...reach } = accessOf({ ...access, access: "memory" });
    const token = await new SignJWT({ reach: { ...reach, countedAs } })
      .setProtectedHeader({ alg: "HS256" })
      .setIssuer(TOKEN_ISSUER)
      .setAudience(this.options.audience)
      .setSubject(userId)
      .setIssuedAt()
      .setExpirationTime(Math.floor(expiresAt / 1_000))
      .sign(await this.#secret());
    return { token, expiresAt };
  }

  /** Whom a token stands for; null for one that is forged, expired, or for another server. */
  async verify(token: string): Promise<Principal | null> {
    const { errors, jwtVerify } = await import("jose");
    try {
      const { payload } = await jwtVerify(token, await this.#secret(), {
        algorithms: ["HS256"],
        issuer: TOKEN_ISSUER,
        audience: this.options.audience,
        requiredClaims: ["sub", "exp"],
      });
      const { sub: userId = "", reach } = payload;
      const { countedAs, ...given } = reach as Access & Pick<Principal, "countedAs">;
      const access = accessOf({ ...given, access: "memory", userId });
      return { id: userPrincipalId(userId, access.tenant), ...access, ...(countedAs !== undefined && { countedAs }) };
    } catch (error) {
      if (error instanceof errors.JOSEError || error instanceof TypeError) return null;
      throw error;
    }
  }

  // Of two processes that make it, one does.
  async #read(): Promise<Uint8Array> {
    const encoder = new TextEncoder();
    if (typeof this.source === "string") return encoder.encode(this.source);
    const { records } = this.source;
    try {
      await records.set(SECRETS, FIRST, encoder.encode(randomText(32)), { expectedVersion: 0 });
    } catch (error) {
      if (!StemmaError.isInstance(error, "RECORD_CONFLICT")) throw error;
    }
    const stored = await records.get(SECRETS, FIRST);
    if (stored === null) throw new StemmaError("RECORD_CONFLICT", {}, "The secret of tokens was deleted meanwhile.");
    return stored.value;
  }
}
