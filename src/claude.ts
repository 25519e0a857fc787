export { type MemoryTool, type MemoryToolOptions, memoryTool } from "./claude/memory/memory-tool.js";
export type { MemoryCommand, MemoryHandlers } from "./claude/memory/paths.js";
export { claudeSessionStore } from "./claude/sessions/session-store.js";
export type {
  ClaudeSessionEntry,
  ClaudeSessionKey,
  ClaudeSessionStore,
  ClaudeSessionSummary,
} from "./claude/sessions/types.js";
