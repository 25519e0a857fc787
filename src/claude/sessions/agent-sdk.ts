import { StemmaError } from "../../errors.js";
import type { ClaudeSessionEntry, ClaudeSessionSummary } from "./types.js";

/** What is used of the Claude Agent SDK. */
interface AgentSdk {
  /** Brings what is kept of a session for lists up to date with the entries that were added. */
  foldSessionSummary(
    before: ClaudeSessionSummary | undefined,
    key: { projectKey: string; sessionId: string },
    added: ClaudeSessionEntry[],
    options: { mtime: number },
  ): ClaudeSessionSummary;
}

/** The Claude Agent SDK, which is loaded with the first append. Errors: `DRIVER_MISSING` where it is not installed. */
export async function loadAgentSdk(): Promise<AgentSdk> {
  try {
    // @ts-expect-error: its types are there only where compat/ is installed.
    const sdk: AgentSdk = await import("@anthropic-ai/claude-agent-sdk");
    return sdk;
  } catch (cause) {
    const message = "To store sessions of Claude, run: npm install @anthropic-ai/claude-agent-sdk";
    throw new StemmaError("DRIVER_MISSING", {}, message, { cause });
  }
}
