import { StemmaError } from "../../errors.js";

/** The Claude Agent SDK, which is loaded with the first append. Errors: `DRIVER_MISSING` where it is not installed. */
export async function loadAgentSdk(): Promise<typeof import("@anthropic-ai/claude-agent-sdk")> {
  try {
    return await import("@anthropic-ai/claude-agent-sdk");
  } catch (cause) {
    const message = "To store sessions of Claude, run: npm install @anthropic-ai/claude-agent-sdk";
    throw new StemmaError("DRIVER_MISSING", {}, message, { cause });
  }
}
