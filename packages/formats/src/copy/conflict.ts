import { StemmaError } from "@stemma/model";
import { ownerName } from "../stemma/stemma-jsonl.js";
import type { PartOf } from "./contract.js";

/** The error for a part of which the target holds something else. */
export function conflict(of: PartOf, what: string): StemmaError {
  const name = partName(of);
  const message = `The target holds other data for ${name}: ${what}. It was not overwritten; delete it there, or copy to another place.`;
  return new StemmaError("COPY_CONFLICT", { ...of }, message);
}

/** The words for a part in a message. */
export function partName(of: PartOf): string {
  if ("vectors" in of) return `vectors of session "${of.vectors}"`;
  return "session" in of ? `session "${of.session}"` : ownerName(of);
}
