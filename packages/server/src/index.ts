export { type ApiKeyInfo, ApiKeys, type NewApiKey } from "./access/api-keys.js";
export { type AuditEntry, AuditLog } from "./access/audit-log.js";
export { type AuthenticatorOptions, authenticator } from "./access/authenticator.js";
export type { ForeignTokensOptions } from "./access/foreign-tokens.js";
export { type GuardedCall, type GuardOptions, guard } from "./access/guard.js";
export type { Access, Principal } from "./access/principal.js";
export { RateLimits, type RateLimitsOptions } from "./access/rate-limits.js";
export { type NewUserToken, UserTokens } from "./access/user-tokens.js";
