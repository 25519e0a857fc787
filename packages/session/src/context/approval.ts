import { StemmaError } from "@stemma/model";
import type { EntryFields } from "@stemma/store";
import type { WriteAction } from "../tools/tool.js";

/** A write that the model asks for through a tool. */
export interface ProposedWrite {
  readonly label: string;
  /** The entry's key; null for a block without keys. */
  readonly key: string | null;
  /** The name of the entry's scope, of a block with several; null for any other. */
  readonly scope: string | null;
  /** The fields of an entry that the model gives: its times, tags, and keys of entries that it supersedes. */
  readonly fact: EntryFields;
  readonly action: WriteAction;
  /** The text to be written: the whole one, the addition at its end, or of a block with a schema a JSON Merge Patch. */
  readonly content: string;
  /** The block's present text; null for an entry. */
  readonly present: string | null;
  readonly sessionId: string;
  /** The user's message that the model answers; null where it is not known. */
  readonly messageId: string | null;
  readonly toolCallId: string | null;
}

/** True writes it, false does not, a text says to the model why not, and `{ content }` is written in its place. */
export type WriteDecision = boolean | string | { readonly content: string };

export type ApproveWrite = (write: ProposedWrite) => WriteDecision | Promise<WriteDecision>;

/** Asks the host, and gives the content to be written. Errors: `WRITE_DENIED`, and what `approve` throws. */
export async function approvedContent(approve: ApproveWrite, write: ProposedWrite): Promise<string> {
  const decision = await approve(write);
  if (decision === true) return write.content;
  if (typeof decision === "object" && decision !== null && typeof decision.content === "string")
    return decision.content;
  const reason = typeof decision === "string" && decision !== "" ? ` The reason: ${decision}` : "";
  const message = `The write to "${write.label}" was not approved. Nothing was changed.${reason}`;
  throw new StemmaError("WRITE_DENIED", { label: write.label }, message);
}
