export { AgentSession, type ReceiveOptions } from "./agent-session.js";
export type { AgentCompaction, CreateSessionOptions } from "./create-options.js";
export { cleanupSessions, createSession, forkSession, resumeSession } from "./create-session.js";
export { type AgentInput, fromSDKMessages, toSDKMessages } from "./messages/sdk-message.js";
export { type AgentModel, type ModelObject, type ModelSettings, resolveModel } from "./models/model.js";
export { openStore, type StorageLike, type StoreBackedStorage } from "./open-store.js";
export {
  createSessionStorage,
  SqliteSessionStorage,
  type StorageOptions,
  setDefaultStorage,
} from "./storages/create-storage.js";
export { FileSessionStorage } from "./storages/file-storage.js";
export { MemorySessionStorage } from "./storages/memory-storage.js";
export type { RedisClient } from "./storages/redis-storage.js";
export { RedisSessionStorage, type RedisStorageOptions } from "./storages/redis-storage.js";
export { StoreSessionStorage } from "./storages/store-session-storage.js";
export type { AgentTool, AgentTools, ApprovalRequest, Approve } from "./tools/agent-tools.js";
export { createRunWithin, type RunWithin } from "./tools/bounded.js";
export {
  type BuiltinToolName,
  type BuiltinToolOptions,
  builtinTools,
  createBuiltinTools,
} from "./tools/builtin-tools.js";
export type {
  AgentEvent,
  ContentBlock,
  ExtendedUsageInfo,
  ImageBlock,
  ModelPrices,
  PartBlock,
  SDKMessage,
  SessionState,
  SessionStorage,
  StopReason,
  TextBlock,
  ToolResultBlock,
  ToolUseBlock,
} from "./types.js";
