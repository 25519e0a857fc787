import { foldLabel } from "@stemma/model";
import type { RememberedVersion, Store } from "@stemma/store";
import type { LearnEdit } from "./edits.js";

/** Whether somebody removed what these messages said before. */
export type IsForgotten = (label: string, content: string, messageIds: readonly string[]) => boolean;

/** The present text of something that was written to a block, null where it is gone, with the label of the block. */
export interface PresentText {
  readonly label: string;
  readonly text: string | null;
}

/**
 * Finds what was noted of messages before, by whomever, and is there no more: it does not come back by learning from them again. An
 * entry that is gone takes along whatever else its messages would say; of a text block, the lines that are gone count.
 */
export async function forgottenOf(
  store: Store,
  sessionId: string,
  edits: readonly LearnEdit[],
  present: (version: RememberedVersion) => Promise<PresentText | null>,
): Promise<IsForgotten> {
  const ids = new Set(edits.flatMap((edit) => (Array.isArray(edit?.messageIds) ? edit.messageIds : [])));
  const session = store.session(sessionId);
  const gone: Gone[] = [];
  for (const id of ids) {
    // A removal says nothing that could be gone.
    const noted = (await session.writes(String(id))).filter(({ content }) => content !== null);
    for (const version of noted) {
      const now = await present(version);
      if (now === null) continue;
      const { label, text } = now;
      if (version.key === null) gone.push(...goneLines({ ...version, label }, text));
      else if (text === null) gone.push({ ...version, label, text });
    }
  }
  return (label, content, messageIds) =>
    gone.some(
      (each) =>
        foldLabel(each.label) === foldLabel(label) &&
        (each.text === null ? messageIds.every((id) => each.messageIds.includes(id)) : each.text === plain(content)),
    );
}

/** A line that is gone, or null for an entry. */
interface Gone extends Pick<RememberedVersion, "label" | "messageIds"> {
  readonly text: string | null;
}

function goneLines({ label, messageIds, content }: RememberedVersion, now: string | null): Gone[] {
  const kept = new Set((now ?? "").split("\n").map(plain));
  const lines = (content ?? "").split("\n").map(plain);
  return lines.filter((line) => line !== "" && !kept.has(line)).map((text) => ({ label, messageIds, text }));
}

const plain = (line: string) =>
  line
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[\s\p{P}]+/gu, " ")
    .trim();
