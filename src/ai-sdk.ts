export { chatHandler } from "./ai-sdk/handler/chat-handler.js";
export type { ChatBlock, ChatBlockVersion, ChatMemory } from "./ai-sdk/handler/chat-memory.js";
export type { ChatInfo, ChatList, ChatMatch, ChatMatches, ChatPage, ChatRun } from "./ai-sdk/handler/chats.js";
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
export { lint, type RepairOptions, repair } from "./ai-sdk/lint/lint.js";
export { type PrepareStep, type SessionMemory, type SessionMemoryOptions, sessionMemory } from "./ai-sdk/memory.js";
export type { Interruption } from "./ai-sdk/message/parts.js";
export type { ModelRequest } from "./ai-sdk/receive/model-request.js";
export type { Received, ReceiveOptions } from "./ai-sdk/receive/receive.js";
export { receive } from "./ai-sdk/receive/receive.js";
export type { RespondOptions, RunData, StreamResult } from "./ai-sdk/respond/options.js";
export { respond } from "./ai-sdk/respond/respond.js";
export type { WhenBusy } from "./ai-sdk/run/runs.js";
export type { RunStatus } from "./session/run-record.js";
