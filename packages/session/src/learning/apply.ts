import { foldLabel, reasonOf } from "@stemma/model";
import { AnsweredEntries, assertKept } from "./answered-entries.js";
import { editedText } from "./edited-text.js";
import { type EditContext, type EditedBlock, type LearnEdit, type LearnedWrite, refused } from "./edits.js";

/** Edits of one answer that are looked at: of each block that many versions are made, and far more are kept. */
export const MAX_EDITS = 25;

/** An edit that was not made, and why. */
export interface SkippedEdit {
  readonly edit: LearnEdit;
  readonly reason: string;
}

export interface AppliedEdits {
  readonly writes: readonly LearnedWrite[];
  readonly skipped: readonly SkippedEdit[];
}

/**
 * Makes the writes of edits of blocks and entries, one for each edit. Left out is an edit that says nothing new, names no message or no
 * line there is, would not fit, or comes after the first `MAX_EDITS`.
 */
export function applyEdits(edits: readonly LearnEdit[], context: EditContext): AppliedEdits {
  const blocks = new Map(context.blocks.map((block) => [foldLabel(block.label), { ...block }]));
  const entries = new AnsweredEntries(context);
  const writes: LearnedWrite[] = [];
  const skipped: SkippedEdit[] = [];
  for (const [index, edit] of edits.entries()) {
    try {
      if (index >= MAX_EDITS) throw refused(`only ${MAX_EDITS} edits are made at once`);
      assertEdit(edit, context.messages);
      const block = blocks.get(foldLabel(edit.label));
      if (block === undefined) throw refused("there is no such block to learn into");
      const notes = straysOf(edit, block);
      if (block.holdsEntries) {
        const { notes: left, ...write } = entries.write(block, edit);
        writes.push({ label: block.label, edit, ...write });
        notes.push(...left);
      } else {
        const content = editedText(block, block.content, edit);
        if (content === block.content) throw refused("it says nothing new");
        assertKept(block, content, edit, context);
        block.content = content;
        writes.push({ label: block.label, key: null, content, fields: {}, supersededBy: [], edit });
      }
      for (const reason of notes) skipped.push({ edit, reason });
    } catch (error) {
      skipped.push({ edit, reason: reasonOf(error) });
    }
  }
  return { writes, skipped };
}

const FIELDS: readonly string[] = [
  "action",
  "label",
  "key",
  "old",
  "content",
  "messageIds",
] satisfies (keyof LearnEdit)[];
const OF_ENTRIES: readonly string[] = [
  "subject",
  "validFrom",
  "validTo",
  "supersedes",
  "tags",
] satisfies (keyof LearnEdit)[];

// A model is told of no field that is left out without a word.
function straysOf(edit: LearnEdit, { holdsEntries }: EditedBlock): string[] {
  const isGiven = (value: unknown) => value != null && !(Array.isArray(value) && value.length === 0);
  const strays = Object.entries(edit)
    .filter(([name, value]) => isGiven(value) && !FIELDS.includes(name) && !(holdsEntries && OF_ENTRIES.includes(name)))
    .map(([name]) => name);
  return strays.length === 0 ? [] : [`left out: ${strays.join(", ")}`];
}

// Rules of the host's may give anything.
function assertEdit(edit: LearnEdit, messageIds: ReadonlyMap<string, unknown>): void {
  const { action, label, key, old, messageIds: named, supersedes = [] } = (edit ?? {}) as Partial<LearnEdit>;
  const isText = (value: unknown) => value === undefined || typeof value === "string";
  if (
    !["add", "replace", "remove"].includes(action ?? "") ||
    typeof label !== "string" ||
    !isText(key) ||
    !isText(old) ||
    !Array.isArray(supersedes)
  ) {
    throw refused("it is no edit");
  }
  if (!Array.isArray(named) || named.length === 0 || !named.every((id) => messageIds.has(id))) {
    throw refused("it names no message that it comes from");
  }
}
