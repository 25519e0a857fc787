import { StemmaError } from "@stemma/model";

/** The error for an edit that is not made. */
export function refused(reason: string): StemmaError {
  return new StemmaError("LEARNING_FAILED", {}, reason);
}
