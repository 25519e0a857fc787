export { type MemoryTool, type MemoryToolOptions, memoryTool } from "./claude/memory/memory-tool.js";
