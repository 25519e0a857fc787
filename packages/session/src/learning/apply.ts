import type { SessionMessage } from "@stemma/model";
import { appendText, estimateStringTokens, foldLabel, reasonOf, StemmaError } from "@stemma/model";
import type { BlockDocument } from "../context/block-document.js";
import { keyOfTitle } from "../tools/entry-key.js";
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

/** The state that edits are applied to. */
export interface EditContext {
  readonly blocks: readonly EditedBlock[];
  /** Gives the present content of an entry; null when there is none. */
  readonly entry: (label: string, key: string) => string | null;
  /** The messages that may be named. */
  readonly messageIds: ReadonlySet<string>;
}

/** The key under which an edit writes an entry. */
export function entryKeyOf({ key = "" }: LearnEdit): string {
  return key.trim() === "" ? "" : keyOfTitle(key);
}

/**
 * Makes the writes of edits of blocks and entries, one for each edit. Left out is an edit that says nothing new, names no message or no
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

/** A block as it is before it is edited. */
export interface EditedBlock {
  readonly label: string;
  readonly content: string;
  /** The most estimated tokens, of the content or of each entry. */
  readonly cap: number;
  readonly holdsEntries: boolean;
  /** Of a block with a schema. */
  readonly document: BlockDocument | null;
}

/** The content of a block after an edit; the same one where the edit says nothing new. */
export function editedText({ document }: EditedBlock, before: string, edit: LearnEdit): string {
  if (document !== null) return editedDocument(document, before, edit);
  const { action } = edit;
  const lines = before.split("\n");
  if (action === "add") {
    const known = new Set(lines.map(plain));
    const added = textOf(edit).split("\n");
    const news = added.filter((line) => line.trim() !== "" && !known.has(plain(line)));
    return news.length === 0 ? before : appendText(before, news.join("\n"));
  }
  const old = edit.old?.trim() ?? "";
  const isOld = sameFactAs(old);
  const at = lines.findIndex((line) => line.trim() !== "" && isOld(line));
  if (old === "" || at < 0) throw refused("the line that it names is not there");
  const others = lines.toSpliced(at, 1);
  if (action === "remove") return others.join("\n");
  const text = textOf(edit);
  // What is there already is not said twice.
  if (others.some(sameFactAs(text))) return others.join("\n");
  return lines.with(at, text).join("\n");
}

function editedDocument(document: BlockDocument, before: string, edit: LearnEdit): string {
  if (edit.action === "remove" && !edit.key) throw refused("the field that it removes is not named");
  const { content } = edit;
  const given = typeof content === "string" ? document.parsePatch(content) : content;
  const after = document.patched(before, edit.action === "remove" ? { [edit.key ?? ""]: null } : given);
  // The same object is nothing new, however it was written.
  return before !== "" && document.patched(before, {}) === after ? before : after;
}

/** The content of an entry after an edit; null for one that is removed. */
export function editedEntry(before: string, edit: LearnEdit): string | null {
  if (edit.action === "remove") {
    if (before === "") throw refused("the entry that it names is not there");
    return null;
  }
  const text = textOf(edit);
  const isSame = sameFactAs(text);
  if (edit.action === "replace" || before === "") return isSame(before) ? before : text;
  return before.split("\n").some(isSame) ? before : appendText(before, text);
}

function textOf({ content }: LearnEdit): string {
  const text = typeof content === "string" ? content.replaceAll("\0", "").toWellFormed().trim() : "";
  if (text === "") throw refused("it has no content");
  return text;
}

// Lines that differ in case, in spaces or in what stands before and after them say the same.
function sameFactAs(fact: string): (line: string) => boolean {
  const known = plain(fact);
  return (line) => plain(line) === known;
}

function plain(line: string): string {
  return line
    .normalize("NFKC")
    .toLowerCase()
    .replace(/^[\s\-*•·]+/u, "")
    .replace(/(?<![\s.!;,])[\s.!;,]+$/u, "")
    .replace(/\s+/gu, " ");
}

/** The error for an edit that is not made. */
function refused(reason: string): StemmaError {
  return new StemmaError("LEARNING_FAILED", {}, reason);
}

/** A block that may be learned into. */
export interface LearnBlock {
  readonly label: string;
  readonly description?: string;
  /** The text; of a block that holds entries how many there are. */
  readonly content: string;
  /** The most estimated tokens of the text, or of each entry. */
  readonly maxTokens: number;
  /** It holds entries under keys. */
  readonly holdsEntries: boolean;
  /** Of a block with a schema: its JSON Schema. The content is JSON. */
  readonly schema?: Readonly<Record<string, unknown>>;
}

/** An entry of a block that holds entries. */
export interface LearnEntry {
  readonly label: string;
  readonly key: string;
  readonly content: string;
}

/** Messages to learn from, and the memory that may change. */
export interface LearnRequest {
  /** The messages since the last time, oldest first. */
  readonly messages: readonly SessionMessage[];
  readonly blocks: readonly LearnBlock[];
  /** The entries that fit what the messages say best. */
  readonly entries: readonly LearnEntry[];
}

/** One change of a block or an entry. */
export interface LearnEdit {
  /** `add` a line or an entry, `replace` one by another, `remove` one. */
  readonly action: "add" | "replace" | "remove";
  /** The block's. */
  readonly label: string;
  /** The entry's, of a block that holds entries; the field's that is removed, of a block with a schema. */
  readonly key?: string | undefined;
  /** The line that is replaced or removed, as it stands in the block. */
  readonly old?: string | undefined;
  /** The new text; for a block with a schema a JSON Merge Patch, as an object or as JSON. */
  readonly content?: string | Readonly<Record<string, unknown>> | undefined;
  /** The ids of the messages that it comes from, one at least. */
  readonly messageIds: readonly string[];
}
