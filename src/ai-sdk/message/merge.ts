import type { ToolSet, UIMessage } from "ai";
import type { SessionMessagePart } from "../../model/message.js";
import { isToolPart, type ToolCallPart, toolNameOf } from "../../model/tool-calls.js";

/**
 * The stored message with what a client knows of its calls: outputs of those that wait for one, and approvals of those that
 * were asked for. Whatever else the client's copy says is not looked at. The same object when nothing is new.
 */
export function mergeResults(stored: UIMessage, given: readonly SessionMessagePart[], tools: ToolSet): UIMessage {
  const byId = new Map(given.filter(isToolPart).map((part) => [part.toolCallId, part]));
  let isNew = false;
  const parts = stored.parts.map((part) => {
    if (!isToolPart(part)) return part;
    const change = changeOf(part, byId.get(part.toolCallId), tools);
    isNew ||= change !== null;
    return change === null ? part : { ...part, ...change };
  });
  return isNew ? { ...stored, parts: parts as UIMessage["parts"] } : stored;
}

function changeOf(part: ToolCallPart, given: ToolCallPart | undefined, tools: ToolSet): object | null {
  if (given === undefined || part.providerExecuted === true) return null;
  if (part.state === "approval-requested") return approvalOf(part, given);
  // What the server runs itself, no client can know the output of.
  if (part.state !== "input-available" || typeof tools[toolNameOf(part)]?.execute === "function") return null;
  if (given.state === "output-available") return { state: given.state, output: given.output ?? null };
  if (given.state !== "output-error" || typeof given.errorText !== "string") return null;
  return { state: given.state, errorText: given.errorText };
}

interface Approval {
  readonly id?: unknown;
  readonly approved?: unknown;
  readonly reason?: unknown;
}

function approvalOf(part: ToolCallPart, given: ToolCallPart): object | null {
  const asked = part.approval as Approval;
  const { id, approved, reason } = (given.approval ?? {}) as Approval;
  if (given.state !== "approval-responded" || id !== asked.id || typeof approved !== "boolean") return null;
  const approval = { ...asked, approved, ...(typeof reason === "string" ? { reason } : {}) };
  return { state: "approval-responded", approval };
}
