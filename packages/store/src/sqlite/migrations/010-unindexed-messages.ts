import { type Operation, run } from "../../engine/operation.js";

/** Version 10. Messages may be indexed later than they are written: see `operations/search/unindexed.ts`. */
export function* addUnindexedMessages(): Operation<void> {
  yield* run("CREATE TABLE IF NOT EXISTS assistant_unindexed (n INTEGER PRIMARY KEY)");
}
