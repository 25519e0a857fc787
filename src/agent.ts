export type { AgentSession, ReceiveOptions } from "./agent/agent-session.js";
export type { AgentTool, AgentTools, ApprovalRequest, Approve } from "./agent/agent-tools.js";
export { cleanupSessions } from "./agent/cleanup-sessions.js";
export { type CreateSessionOptions, createSession, forkSession, resumeSession } from "./agent/create-session.js";
export { setDefaultStorage } from "./agent/default-storage.js";
export type { AgentInput } from "./agent/input.js";
export { type AgentModel, type ModelObject, type ModelSettings, resolveModel } from "./agent/model.js";
export { openStore, type StorageLike, type StoreBackedStorage } from "./agent/open-store.js";
export { fromSDKMessages, toSDKMessages } from "./agent/sdk-message.js";
export { createSessionStorage, type StorageOptions } from "./agent/storages/create-storage.js";
export { FileSessionStorage } from "./agent/storages/file-storage.js";
export { MemorySessionStorage } from "./agent/storages/memory-storage.js";
export type { RedisClient } from "./agent/storages/redis-client.js";
export { RedisSessionStorage, type RedisStorageOptions } from "./agent/storages/redis-storage.js";
export { SqliteSessionStorage } from "./agent/storages/sqlite-storage.js";
export { StoreSessionStorage } from "./agent/storages/store-storage.js";
export {
  type BuiltinToolName,
  type BuiltinToolOptions,
  builtinTools,
  createBuiltinTools,
} from "./agent/tools/builtin-tools.js";
export type * from "./agent/types.js";
export type { ErrorCode } from "./errors.js";
export { ERROR_CODES, StemmaError } from "./errors.js";
