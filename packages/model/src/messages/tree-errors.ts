import { StemmaError } from "../errors.js";

// What a session's tree refuses, said alike by a store and over a provider that a user wrote.

/** The error for an append that expected another active leaf; null for none. */
export function leafMoved(sessionId: string, expectedLeaf: string | null, activeLeaf: string | null): StemmaError {
  const [is, not] = [activeLeaf, expectedLeaf].map((id) => (id === null ? "none" : `"${id}"`));
  const message = `The active leaf is ${is}, not ${not}. Read the history again, and append below its last message.`;
  return new StemmaError("LEAF_MOVED", { sessionId, expectedLeaf, activeLeaf }, message);
}

export function noMessage(sessionId: string, messageId: string): StemmaError {
  const message = `No message "${messageId}" is in this session.`;
  return new StemmaError("MESSAGE_NOT_FOUND", { sessionId, messageId }, message);
}

export function messageExists(sessionId: string, messageId: string): StemmaError {
  return new StemmaError("MESSAGE_EXISTS", { sessionId, messageId }, `Message "${messageId}" is in this session.`);
}

export function messageChanged(sessionId: string, messageId: string): StemmaError {
  const message = `Another writer changed message "${messageId}" meanwhile: read it again, then write.`;
  return new StemmaError("MESSAGE_CHANGED", { sessionId, messageId }, message);
}

export function noParent(
  details: { readonly sessionId?: string; readonly parentId: string },
  options?: { readonly cause: unknown },
): StemmaError {
  const advice = "Pass null to start a new root, or the id of a message that exists.";
  const message = `Message "${details.parentId}" is not in this session. ${advice}`;
  return new StemmaError("PARENT_NOT_FOUND", details, message, options);
}

export function noCompaction(sessionId: string, compactionId: string): StemmaError {
  const message = `No compaction "${compactionId}" is in this session.`;
  return new StemmaError("COMPACTION_NOT_FOUND", { sessionId, compactionId }, message);
}

/** The error for a summary over what is no range of one path. */
export function invalidRange(
  sessionId: string,
  { fromMessageId, toMessageId }: { readonly fromMessageId: string; readonly toMessageId: string },
  why: string,
): StemmaError {
  const message = `A summary cannot cover "${fromMessageId}" to "${toMessageId}": ${why}.`;
  return new StemmaError("COMPACTION_INVALID_RANGE", { sessionId, fromMessageId, toMessageId }, message);
}

/** The error for a summary of what is no longer there as it was. */
export function staleRange(sessionId: string): StemmaError {
  const message = "The messages of the range changed while they were summarised; nothing was stored. Compact again.";
  return new StemmaError("COMPACTION_STALE", { sessionId }, message);
}
