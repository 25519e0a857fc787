import { SCENARIOS } from "../../packages/conformance/src/faults/fault-scenarios.js";
import { type Asked, byRemote } from "./crash-rounds.js";
import { REST_WRITES } from "./rest-writes.js";

/** Every call that writes, by `stemma/remote`, and every route that does. */
export const ASKED: readonly Asked[] = [...SCENARIOS.map(byRemote), ...REST_WRITES];

const COMMON: ReadonlySet<string> = new Set([
  "a plain append",
  "appendAll",
  "an update",
  "a delete in the middle",
  "editMessage",
  "addUsage",
  "an append to a block",
  "an entry that is new",
  "records.set",
  "several writes together",
  "POST /v1/sessions/{session}/messages",
  "PATCH /v1/memory/{owner}/blocks/{label}",
]);

/** The commonest of them. */
export const COMMONEST: readonly Asked[] = ASKED.filter(({ title }) => COMMON.has(title));
if (COMMONEST.length !== COMMON.size) throw new RangeError("A common call is not there.");
