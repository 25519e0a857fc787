import type { CopySource } from "./contract.js";
import { readParts } from "./jsonl-parts.js";

/** What `exportStore` gives, to copy from with `copyStore`. Errors at the first use: `UNKNOWN_FORMAT`, and those of `bytes`. */
export function jsonl(bytes: AsyncIterable<Uint8Array>): CopySource {
  return { parts: () => readParts(bytes) };
}
