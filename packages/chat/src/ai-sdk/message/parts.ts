import type { SessionMessage, SessionMessagePart } from "@stemma/model";
import { isSettled, isToolPart, settleToolCalls, type ToolCallPart, toolNameOf } from "@stemma/model";
import type { ToolSet, UIMessage } from "ai";
/** Why an answer ended before its time, in its `metadata.interrupted`: the user stopped it, the model failed, or the process died. */
export type Interruption = "aborted" | "error" | "killed";

type Part = UIMessage["parts"][number];

/** True for a message that has more to show than thoughts and the beginnings of steps. */
export function hasContent({ parts }: UIMessage): boolean {
  return parts.some((part) => {
    if (part.type === "step-start" || part.type === "reasoning") return false;
    return part.type !== "text" || part.text.trim() !== "";
  });
}

export function marked(message: UIMessage, interrupted: Interruption): UIMessage {
  return { ...message, metadata: { ...fieldsOf(message.metadata), interrupted } };
}

export function unmarked(message: UIMessage): UIMessage {
  const { interrupted: _interrupted, ...metadata } = fieldsOf(message.metadata);
  if (Object.keys(metadata).length > 0) return { ...message, metadata };
  const { metadata: _metadata, ...rest } = message;
  return rest;
}

/** A message whose stream broke off, without what had only begun; nothing of it streams any more. */
export function tidied(message: UIMessage): UIMessage {
  const whole = message.parts.filter((part) => {
    if (part.type === "text" || part.type === "reasoning") return part.text !== "";
    return !(isToolPart(part) && part.state === "input-streaming");
  });
  const parts = whole.map((part) =>
    "state" in part && part.state === "streaming" ? { ...part, state: "done" } : part,
  );
  return { ...message, parts: parts as Part[] };
}

/** The message with every call that has no result marked as cut off. */
export function settled(message: UIMessage): UIMessage {
  return settleToolCalls(message as SessionMessage) as UIMessage;
}

/**
 * The finished steps of an interrupted answer, from which it goes on. Of a step that did not end, calls that have their results
 * stay, with the thoughts that led to them, because they may have had effects.
 */
export function finishedSteps(message: UIMessage): UIMessage {
  const start = message.parts.findLastIndex(({ type }) => type === "step-start");
  const before = message.parts.slice(0, Math.max(start, 0));
  const last = message.parts.slice(Math.max(start, 0));
  const called = last.findLastIndex((part) => isToolPart(part) && isDecided(part));
  const decided = last.slice(0, called + 1).filter((part) => !isToolPart(part) || isDecided(part));
  return unmarked({ ...message, parts: [...before, ...decided] });
}

// What a user approved is not asked for again.
function isDecided(part: ToolCallPart): boolean {
  return isSettled(part) || part.state === "approval-responded";
}

/** True when a call of the message waits for its result, or for an approval, from outside. */
export function isWaiting({ parts }: UIMessage): boolean {
  return parts.some((part) => {
    if (!isToolPart(part) || part.providerExecuted === true) return false;
    return part.state === "input-available" || part.state === "approval-requested";
  });
}

export function fieldsOf(metadata: unknown): Record<string, unknown> {
  return typeof metadata === "object" && metadata !== null ? { ...metadata } : {};
}

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
