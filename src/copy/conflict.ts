import { StemmaError } from "../errors.js";
import { ownerName } from "../formats/stemma-jsonl.js";
import type { MemoryOwner } from "../storage/contract.js";

/** The error for a part of which the target holds something else. */
export function conflict(of: MemoryOwner, what: string): StemmaError {
  const name = "session" in of ? `session "${of.session}"` : ownerName(of);
  const message = `The target holds something else of ${name}: ${what}. Nothing of it was overwritten; delete it there, or copy to another place.`;
  return new StemmaError("COPY_CONFLICT", { ...of }, message);
}
