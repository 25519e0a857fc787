import { type ErrorCode, type JsonObject, StemmaError } from "@stemma/model";
import type { MemoryOwner } from "@stemma/store";
import { ownerName } from "../stemma/stemma-jsonl.js";

/** The owner of a part: a session, whose memory it is, or the session whose vectors they are. */
export type PartOf = MemoryOwner | { readonly vectors: string };

/** A unit that is copied together: a session with all that is kept for it, its vectors, or what is remembered outside of sessions. */
export interface Part {
  readonly of: PartOf;
  /** The first of its lines, as `stemma export` writes them. */
  readonly header: JsonObject;
  /** The others, without the last. They can be read once. */
  lines(): AsyncIterable<JsonObject>;
  /** True where it is not what it was when `header` was read. Missing where nothing tells. */
  isChanged?(): Promise<boolean>;
  /** Reads it anew. Null where it is gone. Missing where nobody writes to it. */
  again?(): Promise<Part | null>;
}

/** A place to copy from. */
export interface CopySource {
  /** One after the other: each is read before the next is asked for. */
  parts(): AsyncIterable<Part>;
}

/** A place to copy to. */
export interface CopyTarget {
  /** False where it keeps no vectors: they are left out. */
  readonly keepsVectors?: boolean | undefined;
  /** Called before the first part. */
  begin?(): Promise<void>;
  /** Writes what is missing of a part, behind its header. Resolves to whether anything was. Errors: `COPY_CONFLICT`. */
  write(of: PartOf, header: JsonObject, lines: AsyncIterable<JsonObject>): Promise<boolean>;
  /** The lines that are there of a part, its header first. */
  read(of: PartOf): AsyncIterable<JsonObject>;
  /** Called behind the last part. */
  end?(parts: readonly CopiedPart[]): Promise<void>;
}

/** The outcome of copying one part. */
export interface CopiedPart {
  readonly of: PartOf;
  /** `copied`: something was missing; `present`: nothing was; `failed`: see `problem`. */
  readonly state: "copied" | "present" | "failed";
  /** Messages on all branches. */
  readonly messages: number;
  /** Messages, summaries, blocks, entries and records; of vectors, those of messages that do not wait for theirs. */
  readonly items: number;
  /** A SHA-256 chained over all lines, equal for both sides where the part did not fail. */
  readonly digest: string;
  /** Missing where the part was copied, and is there as it was read. */
  readonly problem?: { readonly code: ErrorCode; readonly message: string } | undefined;
}

export interface CopyReport {
  /** True when everything is there. */
  readonly ok: boolean;
  /** Sessions that are there. */
  readonly sessions: number;
  /** Their messages, on all branches. */
  readonly messages: number;
  /** Messages whose vectors are there, or that need none. */
  readonly vectors: number;
  /** Every part, in the order in which they were copied. */
  readonly parts: readonly CopiedPart[];
}

export interface CopyOptions {
  /** Called with each part once it is done, and verified. */
  readonly onPart?: ((part: CopiedPart) => void) | undefined;
  /** Called while a part is copied, with the number of its items so far. */
  readonly onProgress?: ((of: PartOf, items: number) => void) | undefined;
  /** False leaves the vectors out. */
  readonly vectors?: boolean | undefined;
  /** Ends the copy between two lines; what was copied stays, and the next call goes on. */
  readonly signal?: AbortSignal | undefined;
}

/** The error for a part of which the target holds something else. */
export function conflict(of: PartOf, what: string): StemmaError {
  const name = partName(of);
  const message = `The target holds other data for ${name}: ${what}. It was not overwritten; delete it there, or copy to another place.`;
  return new StemmaError("COPY_CONFLICT", { ...of }, message);
}

export function partName(of: PartOf): string {
  if ("vectors" in of) return `vectors of session "${of.vectors}"`;
  return "session" in of ? `session "${of.session}"` : ownerName(of);
}
