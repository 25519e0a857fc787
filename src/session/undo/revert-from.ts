import { StemmaError } from "../../errors.js";
import type { RememberedVersion, SessionStore, Store } from "../../storage/contract.js";
import { compactionsOver } from "./covering.js";
import { type RevertedWrite, revertText, type Written, writtenOf } from "./revert-text.js";
import type { Reverted, RevertedEntry, RevertedText } from "./reverted.js";
import { writesOf } from "./writes-of.js";

const MAX_ATTEMPTS = 10;

export interface RevertParts {
  readonly store: Store;
  readonly session: SessionStore;
  /** Takes a summary back, and tells listeners. */
  removeCompaction(id: string): Promise<void>;
}

/**
 * Undoes what came of a message, or with `dryRun` only says what that is. Blocks and entries change together or not at all, then
 * summaries are taken back. Whoever is cut off calls it again. Errors: `MESSAGE_NOT_FOUND`, `BLOCK_CONFLICT` or
 * `ENTRY_CONFLICT` where others never stop writing.
 */
export async function revertFrom(parts: RevertParts, messageId: string, dryRun: boolean): Promise<Reverted> {
  const { store, session } = parts;
  const texts = textsOf(await writesOf(session, messageId));
  const compactions = await compactionsOver(session, messageId);
  const reverted = await retried(async () => {
    const found: RevertedWrite[] = [];
    for (const written of texts) {
      const text = await revertText(store, { sessionId: session.id, messageId }, written);
      if (text !== null) found.push(text);
    }
    const writes = found.flatMap(({ write }) => write ?? []);
    if (!dryRun && writes.length > 0) await store.writeTogether(writes);
    return found;
  });
  // The newest first: an older one may lie under it.
  if (!dryRun) for (const { id } of [...compactions].reverse()) await removed(parts, id);
  return { ...sorted(reverted), compactions };
}

async function removed(parts: RevertParts, compactionId: string): Promise<void> {
  try {
    await parts.removeCompaction(compactionId);
  } catch (error) {
    if (!StemmaError.isInstance(error, "COMPACTION_NOT_FOUND")) throw error;
  }
}

// By the text that they are versions of, in the order of its name.
function textsOf(writes: readonly RememberedVersion[]): Written[] {
  const texts = new Map<string, RememberedVersion[]>();
  for (const write of writes) {
    const name = JSON.stringify([write.label, write.key, write.owner]);
    texts.set(name, [...(texts.get(name) ?? []).filter(({ version }) => version !== write.version), write]);
  }
  const named = [...texts].sort(([one], [other]) => (one < other ? -1 : 1));
  return named.flatMap(([, versions]) => writtenOf(versions) ?? []);
}

function sorted(reverted: readonly RevertedWrite[]): Pick<Reverted, "blocks" | "entries"> {
  const blocks: RevertedText[] = [];
  const entries: RevertedEntry[] = [];
  for (const { text } of reverted) {
    const { key, ...block } = text;
    if (key === null) blocks.push(block);
    else entries.push({ ...block, key });
  }
  return { blocks, entries };
}

// Again while others write to the same blocks and entries.
async function retried<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      const isConflict =
        StemmaError.isInstance(error, "BLOCK_CONFLICT") || StemmaError.isInstance(error, "ENTRY_CONFLICT");
      if (!isConflict || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}
