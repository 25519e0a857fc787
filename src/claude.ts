export { type MemoryTool, type MemoryToolOptions, memoryTool } from "./claude/memory/memory-tool.js";
export { claudeSessionStore } from "./claude/sessions/session-store.js";
