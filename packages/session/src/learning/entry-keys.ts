import { foldLabel, keyOfContent, keyOfTitle } from "@stemma/model";
import type { ListedEntry } from "@stemma/store";
import type { LearnEdit, LearnEntry } from "./edits.js";

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
  return [...(isTaken ? [] : [own]), keyOfContent(content), keyOfContent(`${content} ${since}`)];
}

/** True for an entry that ended before something begins: by default, before now. */
export function isOver({ validTo }: Pick<ListedEntry, "validTo">, since: string | null): boolean {
  return validTo !== null && validTo <= (since ?? new Date().toISOString());
}
