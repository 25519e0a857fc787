import type { SessionMessage } from "./message.js";
import { sha256 } from "./sha256.js";

/** What a message says, in 64 characters: equal for two messages that are the same as JSON, and for no others. */
export function digestMessage(message: SessionMessage): string {
  return sha256(JSON.stringify(message));
}

/** What a run of messages says, from the digest of each. */
export function digestRange(digests: readonly string[]): string {
  return sha256(digests.join());
}
