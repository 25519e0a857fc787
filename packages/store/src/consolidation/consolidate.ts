import { check, defineOptions, LONGEST_TIMER } from "@stemma/model";
import type { ConsolidateOptions, Consolidation, Store } from "../contract/store.js";
import { assertScope } from "../sql/session-id.js";
import { makeMerges, undoMerges } from "./merge-writes.js";
import { Proposals } from "./proposals.js";

const DEFAULT_LIMIT = 100;
const DEFAULT_TIMEOUT = 120_000;

const CONSOLIDATE = defineOptions<ConsolidateOptions>({
  scope: assertScope,
  sessionId: check.storable,
  label: check.storable,
  after: check.rule(
    "milliseconds since 1970, or a Date",
    (value) => (typeof value === "number" || value instanceof Date) && !Number.isNaN(new Date(Number(value)).getTime()),
  ),
  extract: check.callable,
  timeout: check.whole(1, LONGEST_TIMER),
  maxCost: check.rule("a number above 0", (value) => typeof value === "number" && value > 0),
  limit: check.whole(2),
  dryRun: check.flag,
  apply: check.list("merges"),
  undo: check.list("merges"),
  keepVersions: check.whole(0),
});

/**
 * The `consolidate` of every store: a store of your own takes it among its methods. It is made of the store's `entries` and
 * `writeTogether`. Errors: as for `Store.consolidate`.
 */
export async function consolidate(this: Store, options: ConsolidateOptions = {}): Promise<Consolidation> {
  CONSOLIDATE.assert(options, "consolidate()");
  const { scope = "user", sessionId = "", limit = DEFAULT_LIMIT, timeout = DEFAULT_TIMEOUT } = options;
  const { dryRun = false, apply, undo, keepVersions } = options;
  const place = { sessionId, scope };
  const parts = { store: this, place, keepVersions };
  if (undo !== undefined) return { dryRun, usage: NOTHING, ...(await undoMerges({ ...parts, merges: undo }, dryRun)) };
  const found =
    apply === undefined
      ? await new Proposals(this, place, { ...options, limit, timeout }).find()
      : { merges: apply, skipped: [], usage: NOTHING };
  const { merges, skipped } = await makeMerges({ ...parts, merges: found.merges }, limit, dryRun);
  return { dryRun, merges, skipped: [...found.skipped, ...skipped], usage: found.usage };
}

const NOTHING: Consolidation["usage"] = { inputTokens: 0, outputTokens: 0, cost: 0 };
