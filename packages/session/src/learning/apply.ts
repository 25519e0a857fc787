import {
  appendText,
  estimateStringTokens,
  foldLabel,
  keyOfContent,
  keyOfTitle,
  reasonOf,
  StemmaError,
} from "@stemma/model";
import { type EntryFields, type ListedEntry, subjectOf } from "@stemma/store";
import type { BlockDocument } from "../context/block-document.js";
import { type Closing, closingOf, type Link, type ShownEntries } from "./closing.js";
import type { LearnEdit, LearnEntry } from "./edits.js";
/** Edits of one answer that are looked at: of each block that many versions are made, and far more are kept. */
export const MAX_EDITS = 25;

/** One write that an edit makes: of a block's content, or of an entry, which null removes. */
export interface LearnedWrite {
  readonly label: string;
  readonly key: string | null;
  readonly content: string | null;
  /** The times of the entry. */
  readonly fields: EntryFields;
  /** Keys of entries that take its place. */
  readonly supersededBy: readonly string[];
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
  /** Gives an entry as it is now; null when there is none. */
  readonly entry: (label: string, key: string) => ListedEntry | null;
  /** Gives the entries that say the same as a new one, also those that have ended. */
  readonly same: (label: string, content: string) => readonly ListedEntry[];
  /** The entries that the learn function was shown. */
  readonly shown: readonly LearnEntry[];
  /** The messages that may be named, with when they were written where that is known. */
  readonly messages: ReadonlyMap<string, string | null>;
  /** Whether somebody removed what these messages said before. */
  readonly isForgotten: (label: string, content: string, messageIds: readonly string[]) => boolean;
}

/** The key under which an edit writes an entry: one that was shown, or one that is made of it. What supersedes others has one of its own. */
export function entryKeyOf({ label, key, content, supersedes }: LearnEdit, shown: readonly LearnEntry[]): string {
  // Rules of the host's may give anything, which is refused later.
  const title = typeof key === "string" ? key : "";
  const isShown = shown.some((each) => each.key === title && foldLabel(each.label) === foldLabel(label));
  const own = isShown ? title : title.trim() === "" ? "" : keyOfTitle(title);
  const isTaken = Array.isArray(supersedes) && supersedes.length > 0 && (own === "" || supersedes.includes(own));
  return isTaken && typeof content === "string" ? keyOfContent(content) : own;
}

/**
 * Makes the writes of edits of blocks and entries, one for each edit. Left out is an edit that says nothing new, names no message or no
 * line there is, would not fit, or comes after the first `MAX_EDITS`.
 */
export function applyEdits(edits: readonly LearnEdit[], context: EditContext): AppliedEdits {
  const blocks = new Map(context.blocks.map((block) => [foldLabel(block.label), { ...block }]));
  const entries = new Map<string, string | null>();
  const links = new Map<string, Link>();
  const writes: LearnedWrite[] = [];
  const skipped: SkippedEdit[] = [];
  for (const [index, edit] of edits.entries()) {
    try {
      if (index >= MAX_EDITS) throw refused(`only ${MAX_EDITS} edits are made at once`);
      assertEdit(edit, context.messages);
      const block = blocks.get(foldLabel(edit.label));
      if (block === undefined) throw refused("there is no such block to learn into");
      const key = block.holdsEntries ? entryKeyOf(edit, context.shown) : null;
      if (key === "") throw refused("an entry needs a key");
      const name = nameOf(block.label, key);
      const present = key === null ? null : context.entry(block.label, key);
      const known = entries.has(name) ? entries.get(name) : present?.content;
      const before = key === null ? block.content : (known ?? "");
      if (key !== null && edit.action !== "add") assertUnchanged(block.label, present, context);
      const after = key === null ? editedText(block, before, edit) : editedEntry(before, edit);
      if (after === before) throw refused("it says nothing new");
      if (after !== null && estimateStringTokens(after) > block.cap) throw refused(`it exceeds ${block.cap} tokens`);
      const { content } = edit;
      if (typeof content === "string" && context.isForgotten(block.label, content, edit.messageIds)) {
        throw refused("it was removed after it was learned");
      }
      const closing =
        key === null || after === null
          ? NO_CLOSING
          : closingOf(edit, shownIn(block.label, present, context, { entries, links }));
      assertHolds(present, closing.fields);
      if (key !== null && after !== null && before === "") assertUnsaid(context.same(block.label, after), closing);
      if (key === null) block.content = after ?? "";
      else entries.set(name, after);
      const fields = key === null || after === null ? {} : { origin: originOf(present), ...closing.fields };
      const { supersededBy } = closing;
      writes.push({ label: block.label, key, content: after, fields, supersededBy, edit });
      if (key !== null) noteLinks(links, block.label, key, closing, context);
      for (const reason of closing.refused) skipped.push({ edit, reason: `nothing is closed: ${reason}` });
    } catch (error) {
      skipped.push({ edit, reason: reasonOf(error) });
    }
  }
  return { writes, skipped };
}

const NO_CLOSING: Closing = { fields: {}, supersededBy: [], until: null, refused: [] };

const nameOf = (label: string, key: string | null) => JSON.stringify([label, key]);

function shownIn(
  label: string,
  written: ListedEntry | null,
  { shown, entry, messages }: EditContext,
  {
    entries: edited,
    links,
  }: { readonly entries: ReadonlyMap<string, unknown>; readonly links: ReadonlyMap<string, Link> },
): ShownEntries {
  return {
    written,
    shown: shown.filter((each) => foldLabel(each.label) === foldLabel(label)),
    // What another edit of the answer writes or removes is no longer what was shown.
    entry: (key) => (edited.has(nameOf(label, key)) ? null : entry(label, key)),
    link: (key) => links.get(nameOf(label, key)) ?? entry(label, key),
    dateOf: (id) => messages.get(id) ?? null,
  };
}

// So that the next edit of the answer finds its place beside this one.
function noteLinks(
  links: Map<string, Link>,
  label: string,
  key: string,
  { fields, supersededBy, until }: Closing,
  { entry }: EditContext,
): void {
  const { validFrom = null, supersedes = [], tags = [] } = fields;
  links.set(nameOf(label, key), { key, validFrom, validTo: until, supersedes, tags });
  for (const by of supersededBy) {
    const next = links.get(nameOf(label, by)) ?? entry(label, by);
    if (next !== null) links.set(nameOf(label, by), { ...next, supersedes: [...next.supersedes, key] });
  }
}

// What is said already, of the same time, is nothing new. What never held is said by another entry.
function assertUnsaid(same: readonly ListedEntry[], { fields, until }: Closing): void {
  const { validFrom = null, tags = [] } = fields;
  const subject = subjectOf(tags ?? []);
  const isSaid = (each: ListedEntry) =>
    (subjectOf(each.tags) ?? subject) === (subject ?? subjectOf(each.tags)) &&
    (each.validTo === null ||
      validFrom === null ||
      validFrom < each.validTo ||
      each.validTo <= (each.validFrom ?? each.validTo)) &&
    (until === null || each.validFrom === null || each.validFrom < until);
  if (same.some(isSaid)) throw refused("it says nothing new");
}

// Whoever edits an entry while learning runs, wins.
function assertUnchanged(label: string, present: ListedEntry | null, context: EditContext): void {
  const before = context.shown.find((each) => foldLabel(each.label) === foldLabel(label) && each.key === present?.key);
  if (before !== undefined && before.content !== present?.content)
    throw refused("somebody changed the entry meanwhile");
}

// What has ended says nothing new: that would be a fact with a key of its own.
function assertHolds(present: ListedEntry | null, { validFrom }: EntryFields): void {
  const end = present?.validTo ?? null;
  if (end !== null && end <= (validFrom ?? new Date().toISOString()))
    throw refused("the entry that it names has ended");
}

// Nothing becomes more trustworthy by learning.
const originOf = (present: ListedEntry | null) => (present?.origin === "web" ? "web" : "learning");

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

/** A test for lines that say the same: they differ in case, in spaces or in what stands before and after them. */
export function sameFactAs(fact: string): (line: string) => boolean {
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
