import { quote, StemmaError } from "../../errors.js";
import { assertEncodable } from "../../model/codec.js";
import { isSummaryMessage, type SessionMessage } from "../../model/message.js";
import type { ImportedMessage, ImportedTree } from "../../storage/contract.js";
import type { ParsedSession, Skipped } from "../session-file.js";

/** A session made ready to be written in one go: nothing in it can be refused. */
export interface PreparedSession {
  tree: ImportedTree;
  /** Summaries whose range is not whole among the messages: only the store can tell whether it is one path. */
  doubtful: ParsedSession["compactions"];
  skipped: Skipped[];
}

/**
 * Leaves out what cannot be stored, and says why: what hung below it hangs below its parent. `placeOf` gives for
 * an id the stored message that it stands for, if there is one.
 */
export function prepareSession(session: ParsedSession, placeOf: (id: string) => string | undefined): PreparedSession {
  const skipped = [...session.skipped];
  /** For each message of the file: its id, or of one that was left out, what stands in its place. */
  const places = new Map<string, string | null>();
  const parents = new Map<string, string | null>();
  const accepted: ImportedMessage[] = [];
  for (const { message, parentId, storedAt, at } of session.messages) {
    const { id } = message;
    if (places.has(id)) {
      skipped.push({ ...at, why: `the id ${quote(String(id))} stands in the file twice; the first is kept` });
      continue;
    }
    const isKnownParent = parentId === null || places.has(parentId) || placeOf(parentId) !== undefined;
    if (!isKnownParent)
      skipped.push({ ...at, why: `its parent ${quote(parentId)} is missing; it starts a tree of its own` });
    const place = parentId === null || !isKnownParent ? null : (places.get(parentId) ?? placeOf(parentId) ?? null);
    const why = refusal(message);
    if (why !== null) {
      skipped.push({ ...at, why });
      if (typeof id === "string") places.set(id, places.get(parentId ?? "") ?? place);
      continue;
    }
    places.set(id, id);
    parents.set(id, place);
    accepted.push({ message, parentId: place, storedAt });
  }
  const doubtful: ParsedSession["compactions"] = [];
  const compactions = session.compactions.filter((compaction) => {
    if (!isStorable(compaction.id) || !isStorable(compaction.summary)) {
      skipped.push({ line: 0, why: `the summary ${quote(compaction.id)} holds NUL or half a surrogate pair` });
      return false;
    }
    const isOnPath = isOnOnePath(compaction, parents);
    if (isOnPath === true) return true;
    if (isOnPath === "unknown" && placeOf(compaction.fromMessageId) !== undefined) {
      doubtful.push(compaction);
      return false;
    }
    skipped.push({
      line: 0,
      why: `the summary ${quote(compaction.id)} lies over messages that are not there, or not on one path`,
    });
    return false;
  });
  const { activeLeafId: leafId } = session;
  const leaf = typeof leafId === "string" ? (places.get(leafId) ?? placeOf(leafId)) : leafId;
  return { tree: { messages: accepted, compactions, activeLeafId: leaf }, doubtful, skipped };
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
): boolean | "unknown" {
  let id: string | null = toMessageId;
  while (id !== fromMessageId) {
    const parent: string | null | undefined = parents.get(id);
    if (parent === undefined) return "unknown";
    if (parent === null) return false;
    id = parent;
  }
  return parents.has(id) || "unknown";
}

function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}
