export { type MemoryTool, type MemoryToolOptions, memoryTool } from "./memory/memory-tool.js";
export type { MemoryCommand, MemoryHandlers } from "./memory/paths.js";
export type {
  ClaudeSessionEntry,
  ClaudeSessionKey,
  ClaudeSessionStore,
  ClaudeSessionSummary,
} from "./sessions/entries.js";
export { claudeSessionStore } from "./sessions/session-store.js";
