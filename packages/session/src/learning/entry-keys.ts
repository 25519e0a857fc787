import { foldLabel, keyOfContent, keyOfTitle } from "@stemma/model";
import { type ListedEntry, subjectOf } from "@stemma/store";
import { heldSince, type Link, readDate } from "./closing.js";
import { sameFactAs } from "./edited-text.js";
import type { LearnEdit, LearnEntry } from "./edits.js";

/**
 * An edit that writes an entry anew, with another text that began later, as one that takes the entry's place: what held until then
 * stays known. Others stay as they are.
 */
export function asSuccessor(edit: LearnEdit, present: (Link & { readonly content: string }) | null): LearnEdit {
  const { action, content, supersedes = [] } = edit;
  const told = readDate(edit.validFrom);
  if (present === null || action !== "replace" || !told || typeof content !== "string") return edit;
  const since = heldSince(present);
  // A state that comes again has an entry of its own anyway.
  if (since === null || told <= since || isOver(present, told) || sameFactAs(present.content)(content)) return edit;
  const subject = edit.subject ?? subjectOf(present.tags) ?? undefined;
  return { ...edit, action: "add", subject, supersedes: [...new Set([present.key, ...supersedes])] };
}

/**
 * The keys under which an edit may write an entry, the first choice first: that of one that was shown, or one that is made of it. What
 * supersedes others has one of its own, and so has a state that comes again. "" where an entry has no key.
 */
export function entryKeysOf(edit: LearnEdit, shown: readonly LearnEntry[], since: string | null): readonly string[] {
  const { label, key, content, supersedes, action } = edit;
  // Rules of the host's may give anything, which is refused later.
  const title = typeof key === "string" ? key : "";
  const isShown = shown.some((each) => each.key === title && foldLabel(each.label) === foldLabel(label));
  const own = isShown ? title : title.trim() === "" ? "" : keyOfTitle(title);
  if (typeof content !== "string" || action === "remove") return [own];
  const isTaken = Array.isArray(supersedes) && supersedes.length > 0 && (own === "" || supersedes.includes(own));
  if (own === "" && !isTaken) return [own];
  return [...(isTaken ? [] : [own]), ...contentKeysOf(edit, since)];
}

/** The keys that are made of what an edit says. */
export function contentKeysOf({ content }: LearnEdit, since: string | null): readonly string[] {
  return typeof content === "string" ? [keyOfContent(content), keyOfContent(`${content} ${since}`)] : [];
}

/** True for an entry that ended before something begins: by default, before now. */
export function isOver({ validTo }: Pick<ListedEntry, "validTo">, since: string | null): boolean {
  return validTo !== null && validTo <= (since ?? new Date().toISOString());
}
