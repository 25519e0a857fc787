import { appendText } from "@stemma/model";
import type { BlockDocument } from "../context/block-document.js";
import { type EditedBlock, type LearnEdit, refused } from "./edits.js";

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
