import type { UIMessageChunk } from "ai";

/** Adds a chunk to a batch; a piece of a text goes to the end of the piece before it. */
export function addToBatch(batch: UIMessageChunk[], chunk: UIMessageChunk): void {
  const last = batch.at(-1);
  const joined = last === undefined ? null : join(last, chunk);
  if (joined === null) batch.push(chunk);
  else batch[batch.length - 1] = joined;
}

function join(last: UIMessageChunk, chunk: UIMessageChunk): UIMessageChunk | null {
  if (last.type === "tool-input-delta" && chunk.type === "tool-input-delta") {
    if (last.toolCallId !== chunk.toolCallId) return null;
    return { ...chunk, inputTextDelta: last.inputTextDelta + chunk.inputTextDelta };
  }
  if (last.type !== "text-delta" && last.type !== "reasoning-delta") return null;
  if (last.type !== chunk.type || last.id !== chunk.id) return null;
  // What a provider adds to a piece, as a signature, stands for all before it.
  if (last.providerMetadata !== undefined) return null;
  return { ...chunk, delta: last.delta + chunk.delta };
}
