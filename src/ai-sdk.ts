/** For applications that use the AI SDK. */
export type { LintFinding, LintRule } from "./ai-sdk/lint/findings.js";
export { lint, type RepairOptions, repair } from "./ai-sdk/lint/lint.js";
export type { ProviderName } from "./ai-sdk/lint/provider-rules.js";
