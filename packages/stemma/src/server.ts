export type {
  Access,
  ApiKeyInfo,
  AuditEntry,
  AuthenticatorOptions,
  ForeignTokensOptions,
  GuardedCall,
  GuardOptions,
  NewApiKey,
  NewUserToken,
  Principal,
  RateLimitsOptions,
} from "@stemma/server";
export { ApiKeys, AuditLog, authenticator, guard, RateLimits, UserTokens } from "@stemma/server";
