import { quote, StemmaError } from "../../errors.js";
import type { ParsedSession, Skipped } from "../../formats/session-file.js";
import { assertEncodable } from "../../model/codec.js";
import { isSummaryMessage, type SessionMessage } from "../../model/message.js";
import type { ImportedTree } from "../../storage/contract.js";

/** A session made ready to be written in one go: nothing in it can be refused. */
export interface PreparedSession {
  tree: ImportedTree;
  skipped: Skipped[];
}

/**
 * Leaves out what cannot be stored, and says why: what hung below it hangs below its parent. `isStored` tells of the
 * messages that the session has already.
 */
export function prepareSession(session: ParsedSession, isStored: (id: string) => boolean): PreparedSession {
  const skipped = [...session.skipped];
  /** For each message of the file: its id, or of one that was left out, what stands in its place. */
  const places = new Map<string, string | null>();
  const parents = new Map<string, string | null>();
  const accepted: { message: SessionMessage; parentId: string | null }[] = [];
  for (const { message, parentId, at } of session.messages) {
    const { id } = message;
    if (places.has(id)) {
      skipped.push({ ...at, why: `the id ${quote(String(id))} stands in the file twice; the first is kept` });
      continue;
    }
    const isKnownParent = parentId === null || places.has(parentId) || isStored(parentId);
    if (!isKnownParent)
      skipped.push({ ...at, why: `its parent ${quote(parentId)} is missing; it starts a tree of its own` });
    const place = parentId === null || !isKnownParent ? null : (places.get(parentId) ?? parentId);
    const why = refusal(message);
    if (why !== null) {
      skipped.push({ ...at, why });
      if (typeof id === "string") places.set(id, places.get(parentId ?? "") ?? place);
      continue;
    }
    places.set(id, id);
    parents.set(id, place);
    accepted.push({ message, parentId: place });
  }
  const compactions = session.compactions.filter((compaction) => {
    if (!isStorable(compaction.id) || !isStorable(compaction.summary)) {
      skipped.push({ line: 0, why: `the summary ${quote(compaction.id)} holds NUL or half a surrogate pair` });
      return false;
    }
    if (isOnOnePath(compaction, parents)) return true;
    skipped.push({
      line: 0,
      why: `the summary ${quote(compaction.id)} lies over messages that are not there, or not on one path`,
    });
    return false;
  });
  const leaf = session.activeLeafId === undefined ? undefined : (places.get(session.activeLeafId) ?? undefined);
  return { tree: { messages: accepted, compactions, activeLeafId: leaf }, skipped };
}

// Why a message cannot be stored; null when it can.
function refusal(message: SessionMessage): string | null {
  try {
    assertEncodable(message);
    return null;
  } catch (error) {
    if (!StemmaError.isInstance(error)) throw error;
    const isSummary = typeof message.id === "string" && isSummaryMessage(message);
    return isSummary ? "it is a summary that stands for other messages, not a message" : error.message;
  }
}

function isOnOnePath(
  { fromMessageId, toMessageId }: { fromMessageId: string; toMessageId: string },
  parents: Map<string, string | null>,
): boolean {
  let id: string | null | undefined = toMessageId;
  while (id != null && id !== fromMessageId) id = parents.get(id);
  return id === fromMessageId && parents.has(id);
}

function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}
