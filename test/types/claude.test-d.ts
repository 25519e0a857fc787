import type { SessionStore } from "@anthropic-ai/claude-agent-sdk";
import type { MemoryToolHandlers } from "@anthropic-ai/sdk/helpers/beta/memory";
import type { ClaudeSessionStore, MemoryTool } from "stemma/claude";

// What Claude's SDKs take.
declare const tool: MemoryTool;
declare const store: ClaudeSessionStore;
tool satisfies MemoryToolHandlers;
store satisfies Required<SessionStore>;
