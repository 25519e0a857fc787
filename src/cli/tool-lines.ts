import { StemmaError } from "../errors.js";
import { readToolPart } from "../model/tool-parts.js";
import type { SessionStore } from "../storage/contract.js";
import { describeTool } from "./tool-call.js";

/** Columns of a tree that stand before what a message says, where nothing is moved in. */
const BEFORE = 24;
const MIN_LENGTH = 40;

/** What the tools did that each message calls, a line for each call that fits a tree of `width` columns. Messages without calls are missing. */
export async function toolLines(session: SessionStore, width: number): Promise<Map<string, string[]>> {
  const lines = new Map<string, string[]>();
  try {
    for await (const { message } of session.messages()) {
      const calls = message.parts.flatMap((part) => {
        const tool = readToolPart(part);
        return tool === null ? [] : [describeTool(tool, Math.max(MIN_LENGTH, width - BEFORE))];
      });
      if (calls.length > 0) lines.set(message.id, calls);
    }
  } catch (error) {
    // The tree shows which message cannot be read.
    if (!StemmaError.isInstance(error, "CORRUPT_MESSAGE")) throw error;
  }
  return lines;
}
