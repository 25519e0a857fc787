// A candidate that did not do the work has no time: what it holds is compared with what it was given.
import { createHash } from "node:crypto";

/** A hash of the ids, roles and parts of messages, in order. */
export function digest(messages) {
  const hash = createHash("sha256");
  for (const { id, role, parts } of messages) hash.update(JSON.stringify([id, role, parts]));
  return hash.digest("hex");
}

/** Throws unless `actual` are the messages that are `expected`. */
export function verifyMessages(who, actual, expected) {
  if (actual.length !== expected.length) {
    throw new Error(`${who}: ${actual.length} messages instead of ${expected.length}.`);
  }
  if (digest(actual) !== digest(expected)) throw new Error(`${who}: the messages are not those that it was given.`);
}

/** Throws unless `condition` holds. */
export function verify(condition, who, what) {
  if (!condition) throw new Error(`${who}: ${what}`);
}
