export type {
  Access,
  ApiKeyInfo,
  AuthenticatorOptions,
  ForeignTokensOptions,
  NewApiKey,
  NewUserToken,
  Principal,
} from "@stemma/server";
export { ApiKeys, authenticator, guard, UserTokens } from "@stemma/server";
