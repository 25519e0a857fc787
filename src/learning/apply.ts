import { reasonOf } from "../errors.js";
import { foldLabel } from "../model/fold-label.js";
import { estimateStringTokens } from "../model/tokens.js";
import { keyOfTitle } from "../tools/entry-key.js";
import type { EditedBlock } from "./edited-text.js";
import { editedEntry, editedText, refused } from "./edited-text.js";
import type { LearnEdit } from "./edits.js";

/** Edits of one answer that are looked at: of each block that many versions are made, and far more are kept. */
export const MAX_EDITS = 25;

/** One write that an edit makes: of a block's content, or of an entry, which null removes. */
export interface LearnedWrite {
  readonly label: string;
  readonly key: string | null;
  readonly content: string | null;
  readonly edit: LearnEdit;
}

/** An edit that was not made, and why. */
export interface SkippedEdit {
  readonly edit: LearnEdit;
  readonly reason: string;
}

export interface AppliedEdits {
  readonly writes: readonly LearnedWrite[];
  readonly skipped: readonly SkippedEdit[];
}

/** What is to be known to apply edits. */
export interface EditContext {
  readonly blocks: readonly EditedBlock[];
  /** What an entry says now; null when there is none. */
  readonly entry: (label: string, key: string) => string | null;
  /** The messages that may be named. */
  readonly messageIds: ReadonlySet<string>;
}

/** The key under which an edit writes an entry. */
export function entryKeyOf({ key = "" }: LearnEdit): string {
  return key.trim() === "" ? "" : keyOfTitle(key);
}

/**
 * What edits make of blocks and entries, one write for each edit. Left out is what says nothing new, names no message or no
 * line there is, would not fit, or comes after the first `MAX_EDITS`.
 */
export function applyEdits(edits: readonly LearnEdit[], context: EditContext): AppliedEdits {
  const blocks = new Map(context.blocks.map((block) => [foldLabel(block.label), { ...block }]));
  const entries = new Map<string, string | null>();
  const writes: LearnedWrite[] = [];
  const skipped: SkippedEdit[] = [];
  for (const [index, edit] of edits.entries()) {
    try {
      if (index >= MAX_EDITS) throw refused(`only ${MAX_EDITS} edits are made at once`);
      assertEdit(edit, context.messageIds);
      const block = blocks.get(foldLabel(edit.label));
      if (block === undefined) throw refused("there is no such block to learn into");
      const key = block.holdsEntries ? entryKeyOf(edit) : null;
      if (key === "") throw refused("an entry needs a key");
      const name = JSON.stringify([block.label, key]);
      const entry = () =>
        key === null ? null : entries.has(name) ? entries.get(name) : context.entry(block.label, key);
      const before = key === null ? block.content : (entry() ?? "");
      const after = key === null ? editedText(block, before, edit) : editedEntry(before, edit);
      if (after === before) throw refused("it says nothing new");
      if (after !== null && estimateStringTokens(after) > block.cap) throw refused(`it exceeds ${block.cap} tokens`);
      if (key === null) block.content = after ?? "";
      else entries.set(name, after);
      writes.push({ label: block.label, key, content: after, edit });
    } catch (error) {
      skipped.push({ edit, reason: reasonOf(error) });
    }
  }
  return { writes, skipped };
}

// Rules of the host's may give anything.
function assertEdit(edit: LearnEdit, messageIds: ReadonlySet<string>): void {
  const { action, label, key, old, messageIds: named } = (edit ?? {}) as Partial<LearnEdit>;
  const isText = (value: unknown) => value === undefined || typeof value === "string";
  if (
    !["add", "replace", "remove"].includes(action ?? "") ||
    typeof label !== "string" ||
    !isText(key) ||
    !isText(old)
  ) {
    throw refused("it is no edit");
  }
  if (!Array.isArray(named) || named.length === 0 || !named.every((id) => messageIds.has(id))) {
    throw refused("it names no message that it comes from");
  }
}
