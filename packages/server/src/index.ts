export type { Access } from "./access/access-options.js";
export { type ApiKeyInfo, ApiKeys, type NewApiKey } from "./access/api-keys.js";
export { type AuthenticatorOptions, authenticator } from "./access/authenticator.js";
export type { ForeignTokensOptions } from "./access/foreign-tokens.js";
export { guard } from "./access/guard.js";
export type { Principal } from "./access/principal.js";
export { type NewUserToken, UserTokens } from "./access/user-tokens.js";
