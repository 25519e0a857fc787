import { StemmaError } from "@stemma/model";

/** The error for a command that cannot be carried out. Its message is what the model is told. */
export function refused(message: string): StemmaError {
  return new StemmaError("MEMORY_REFUSED", {}, message);
}
