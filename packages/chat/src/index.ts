export { chatHandler } from "./ai-sdk/handler/chat-handler.js";
export type {
  ChatBlock,
  ChatBlockVersion,
  ChatInfo,
  ChatList,
  ChatMatch,
  ChatMatches,
  ChatMemory,
  ChatPage,
  ChatRun,
} from "./ai-sdk/handler/chats.js";
export type {
  ChatFact,
  ChatFactExport,
  ChatFactHistory,
  ChatFacts,
  ChatFactVersion,
} from "./ai-sdk/handler/facts.js";
export type {
  ChatContext,
  ChatError,
  ChatHandler,
  ChatHandlerOptions,
  ChatUser,
  ModelSettings,
  PerRequest,
  RequestContext,
} from "./ai-sdk/handler/http.js";
export type { LintFinding, LintRule } from "./ai-sdk/lint/findings.js";
export type { ProviderName } from "./ai-sdk/lint/known-providers.js";
export { lint, type RepairOptions, repair, repairInPieces } from "./ai-sdk/lint/lint.js";
export { stepResults } from "./ai-sdk/lint/outputs.js";
export { modelMessages } from "./ai-sdk/message/model-messages.js";
export type { Interruption } from "./ai-sdk/message/parts.js";
export { streamOf } from "./ai-sdk/message/replay.js";
export { type StemmaMiddlewareOptions, stemmaMiddleware } from "./ai-sdk/middleware/stemma-middleware.js";
export { type ModelRequest, type Received, type ReceiveOptions, receive } from "./ai-sdk/receive/receive.js";
export { type RespondOptions, type RunData, respond, type StreamResult } from "./ai-sdk/respond/respond.js";
export type { WhenBusy } from "./ai-sdk/run/runs.js";
export {
  type PrepareStep,
  type SessionMemory,
  type SessionMemoryOptions,
  sessionMemory,
} from "./ai-sdk/session-memory.js";
