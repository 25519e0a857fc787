import { StemmaError } from "../errors.js";
import type { Kept } from "./compaction-work.js";

// What a session says of automatic compactions that help little. Loaded when there is one.

/** After compactions in a row that stored nothing; the next one comes after `needed` tokens of new text. */
export function noGain(tokens: number, threshold: number, needed: number): StemmaError {
  const message = `Three compactions in a row did not shrink the history; the next one is tried after ${Math.round(needed)} tokens of new text.`;
  return new StemmaError("COMPACTION_NO_GAIN", { tokens, threshold }, message);
}

/** After one that leaves less than half of the threshold free. */
export function noRoom(kept: Kept, threshold: number): StemmaError {
  // A counter of the host's may give fractions.
  const [tokens, prompt] = [Math.round(kept.tokens), Math.round(kept.prompt)];
  const { head, summary, tail } = kept;
  const what =
    kept.prompt + head > threshold
      ? `The prompt and the first messages, which are never summarised, alone exceed compactAfter(${threshold})`
      : `After a compaction there are ${tokens} tokens, more than half of compactAfter(${threshold})`;
  const parts = `prompt ${prompt}; as estimated, first messages ${head}, summary ${summary}, last messages ${tail}`;
  const message = `${what}: ${parts}. Automatic compaction pauses: there is at most one for each ${threshold / 2} tokens of new text. Raise the threshold, or keep less: a shorter prompt, a smaller protectHead or tailTokenBudget.`;
  return new StemmaError("COMPACTION_NO_ROOM", { threshold, ...kept }, message);
}
