import { quote, StemmaError } from "@stemma/model";

/** The longest label of a block, in characters. */
export const MAX_LABEL_LENGTH = 128;

/** Every character that some reader takes for the end of a line. */
export const LINE_BREAKS = "\n\r\v\f\u001c\u001d\u001e\u0085\u2028\u2029";

const lineBreak = new RegExp(`[${LINE_BREAKS}]`);

/** Throws `INVALID_LABEL` unless `label` can stand in a header of the prompt. */
export function assertLabel(label: unknown): asserts label is string {
  if (typeof label !== "string" || label.trim() === "") throw invalid(label, "must be a text that is not empty");
  if (label.length > MAX_LABEL_LENGTH) throw invalid(label, `may have at most ${MAX_LABEL_LENGTH} characters`);
  if (lineBreak.test(label)) throw invalid(label, "must not have a line break");
  if (label.includes("═")) throw invalid(label, 'must not have "═", of which the prompt draws its lines');
  if (label.includes("\0") || !label.isWellFormed())
    throw invalid(label, "must not have NUL or half of a surrogate pair");
}

/** Throws `INVALID_LABEL`, or `DUPLICATE_LABEL` when a block has that label, written as in `existing`. */
export function assertNewLabel(label: unknown, existing: string | undefined): asserts label is string {
  assertLabel(label);
  if (existing === undefined) return;
  const message = `A block "${existing}" exists already; labels differ by more than case. Choose another label than "${label}".`;
  throw new StemmaError("DUPLICATE_LABEL", { label, existing }, message);
}

function invalid(label: unknown, rule: string): StemmaError {
  const message = `A block's label ${rule}; got ${typeof label === "string" ? quote(label) : typeof label}.`;
  return new StemmaError("INVALID_LABEL", { label }, message);
}
