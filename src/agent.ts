export type { ErrorCode } from "./errors.js";
export { ERROR_CODES, StemmaError } from "./errors.js";
export type { AgentSession, ReceiveOptions } from "./runner/agent-session.js";
export type { AgentCompaction, CreateSessionOptions } from "./runner/create-options.js";
export { cleanupSessions, createSession, forkSession, resumeSession } from "./runner/create-session.js";
export type { AgentInput } from "./runner/messages/sdk-message.js";
export { fromSDKMessages, toSDKMessages } from "./runner/messages/sdk-message.js";
export { type AgentModel, type ModelObject, type ModelSettings, resolveModel } from "./runner/models/model.js";
export { openStore, type StorageLike, type StoreBackedStorage } from "./runner/open-store.js";
export {
  createSessionStorage,
  SqliteSessionStorage,
  type StorageOptions,
  setDefaultStorage,
} from "./runner/storages/create-storage.js";
export { FileSessionStorage } from "./runner/storages/file-storage.js";
export { MemorySessionStorage } from "./runner/storages/memory-storage.js";
export type { RedisClient } from "./runner/storages/redis-client.js";
export { RedisSessionStorage, type RedisStorageOptions } from "./runner/storages/redis-storage.js";
export { StoreSessionStorage } from "./runner/storages/store-session-storage.js";
export type { AgentTool, AgentTools, ApprovalRequest, Approve } from "./runner/tools/agent-tools.js";
export {
  type BuiltinToolName,
  type BuiltinToolOptions,
  builtinTools,
  createBuiltinTools,
} from "./runner/tools/builtin-tools.js";
export type * from "./runner/types.js";
