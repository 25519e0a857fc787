import { StemmaError } from "../errors.js";

/** The error for an append that expected another active leaf; null for none. */
export function leafMoved(sessionId: string, expectedLeaf: string | null, activeLeaf: string | null): StemmaError {
  const [is, not] = [activeLeaf, expectedLeaf].map((id) => (id === null ? "none" : `"${id}"`));
  const message = `The active leaf is ${is}, not ${not}. Read the history again, and append below its last message.`;
  return new StemmaError("LEAF_MOVED", { sessionId, expectedLeaf, activeLeaf }, message);
}
