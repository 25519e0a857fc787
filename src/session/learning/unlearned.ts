import { StemmaError } from "../../errors.js";
import type { SessionMessage } from "../../model/message.js";
import { estimateMessageTokens } from "../../model/tokens.js";
import type { SessionBackend } from "../provider.js";

/** The function is given messages of so many estimated tokens at once. */
const BATCH_TOKENS = 20_000;

/** Of a conversation that nothing was learned from yet, so many messages are looked at, the newest. */
const MOST = 1000;

const ORIGINALS = { newestFirst: true, summaries: false, onCorrupt: "skip" } as const;

/**
 * The stored messages of the active path that come after what was `learned`, oldest first. Of that the newest ids are known,
 * the latest first: some of them may be gone, or lie on another branch.
 */
export async function unlearnedMessages(
  backend: Pick<SessionBackend, "stream">,
  learned: readonly string[],
): Promise<SessionMessage[]> {
  const known = new Set(learned);
  const found: SessionMessage[] = [];
  for await (const message of backend.stream(ORIGINALS)) {
    if (known.has(message.id)) return found.reverse();
    found.push(message);
    if (found.length === MOST) break;
  }
  // The path may have left the learned one further up than the known ids reach.
  const ancestors = await ancestorsOf(backend, learned);
  const end = found.findIndex(({ id }) => ancestors.has(id));
  return found.slice(0, end < 0 ? undefined : end).reverse();
}

// The path to the first of the messages that is still there.
async function ancestorsOf(backend: Pick<SessionBackend, "stream">, ids: readonly string[]): Promise<Set<string>> {
  const ancestors = new Set<string>();
  for (const leafId of ids) {
    try {
      for await (const { id } of backend.stream({ ...ORIGINALS, leafId })) ancestors.add(id);
      return ancestors;
    } catch (error) {
      if (!StemmaError.isInstance(error, "MESSAGE_NOT_FOUND")) throw error;
    }
  }
  return ancestors;
}

/** What the function is given at once: the oldest messages, at least one. */
export function firstBatch(messages: readonly SessionMessage[]): readonly SessionMessage[] {
  let tokens = 0;
  const end = messages.findIndex((message, index) => {
    tokens += estimateMessageTokens(message);
    return index > 0 && tokens > BATCH_TOKENS;
  });
  return end < 0 ? messages : messages.slice(0, end);
}
