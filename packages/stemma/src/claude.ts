export type {
  ClaudeSessionEntry,
  ClaudeSessionKey,
  ClaudeSessionStore,
  ClaudeSessionSummary,
  MemoryCommand,
  MemoryHandlers,
} from "@stemma/adapters/claude";
export { claudeSessionStore, type MemoryTool, type MemoryToolOptions, memoryTool } from "@stemma/adapters/claude";
