import { assertEncodable, isSummaryMessage, quote, type SessionMessage, StemmaError, yieldIfDue } from "@stemma/model";
import type { ImportedMessage, ImportedTree } from "@stemma/store";
import { missingParent } from "../lineage.js";
import type { ParsedSession, Skipped } from "../stemma/session-file.js";

/** A session made ready to be written in one go: nothing in it can be refused. */
export interface PreparedSession {
  tree: ImportedTree;
  /** Summaries whose range is not whole among the messages: only the store can tell whether it is one path. */
  doubtful: ParsedSession["compactions"];
  skipped: Skipped[];
}

/**
 * Leaves out what cannot be stored, and says why: what hung below it hangs below its parent. A message whose parent is
 * missing is attached to the one before it in the file, so that it does not hide what came before. `placeOf` gives for an id
 * the stored message that it stands for, if there is one.
 */
export async function prepareSession(
  session: ParsedSession,
  placeOf: (id: string) => string | undefined,
): Promise<PreparedSession> {
  const skipped = [...session.skipped];
  /** For each message of the file: its id, or of one that was left out, what stands in its place. */
  const places = new Map<string, string | null>();
  const parents = new Map<string, string | null>();
  const accepted: ImportedMessage[] = [];
  /** The message before the present one. */
  let last: string | null = null;
  const find = (id: string): string | null | undefined => (places.has(id) ? places.get(id) : placeOf(id));
  for (const { message, parentId, after = last, storedAt, at } of session.messages) {
    const due = yieldIfDue();
    if (due !== null) await due;
    const { id } = message;
    if (places.has(id)) {
      skipped.push({ ...at, why: `the id ${quote(String(id))} stands in the file twice; the first is kept` });
      continue;
    }
    let place = parentId === null ? null : find(parentId);
    if (place === undefined) {
      place = (after === null ? null : find(after)) ?? last;
      skipped.push({ ...at, why: missingParent(String(parentId), place !== null) });
    }
    const why = refusal(message);
    if (why !== null) {
      skipped.push({ ...at, why });
      if (typeof id === "string") places.set(id, place);
      continue;
    }
    places.set(id, id);
    last = id;
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
