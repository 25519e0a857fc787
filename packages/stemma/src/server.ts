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
  Problem,
  RateLimitsOptions,
  RequestRecord,
  ServerContext,
  ServerHandler,
  ServerOptions,
} from "@stemma/server";
export { ApiKeys, AuditLog, authenticator, createServer, guard, RateLimits, UserTokens } from "@stemma/server";
