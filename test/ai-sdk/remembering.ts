// Bundled with either major version of the AI SDK, which the package then uses too.
export * as ai from "ai";
export { SessionManager } from "stemma";
export { stemmaMiddleware } from "stemma/ai-sdk";
export { memory } from "stemma/memory";
